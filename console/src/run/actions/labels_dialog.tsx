// The dialog that changes the name and the tags of a run.

import { useState } from "preact/hooks";
import { call } from "../../api.ts";
import { Confirm } from "../../ui/dialog.tsx";
import { TextArea, TextField } from "../../ui/field.tsx";
import type { RunDocument } from "../../wire.ts";

interface LabelsDialogProps {
  readonly run: RunDocument;
  readonly onDone: (document: RunDocument) => void;
  readonly onClose: () => void;
}

export function LabelsDialog({ run, onDone, onClose }: LabelsDialogProps) {
  const [name, setName] = useState(run.name);
  const [tags, setTags] = useState(
    Object.entries(run.tags).map(([key, value]) => `${key}=${value}`).join("\n"),
  );
  async function save(): Promise<void> {
    const removed = Object.fromEntries(Object.keys(run.tags).map((key) => [key, null]));
    const labels = { name, tags: { ...removed, ...tagsOf(tags) } };
    onDone(await call("patch", "/api/runs/{run_id}", { run_id: run.run_id }, labels));
  }
  return (
    <Confirm title="Name and tags" action="Save" kind="primary" onConfirm={save} onClose={onClose}>
      <TextField
        label="Name"
        hint="Lists show it in place of the request."
        value={name}
        maxLength={200}
        onInput={setName}
      />
      <TextArea
        label="Tags"
        hint="One per line, as KEY=VALUE."
        rows={4}
        value={tags}
        onInput={setTags}
      />
    </Confirm>
  );
}

/** Return tags by key: a line without "=" is a tag without a value. */
export function tagsOf(text: string): { readonly [key: string]: string } {
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
  return Object.fromEntries(lines.map((line) => {
    const at = line.indexOf("=");
    return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  }));
}
