// What changed from one text to another, paragraph by paragraph, side by side.

import { useMemo } from "preact/hooks";
import { capitalized } from "../formats.ts";
import { changedRows, type Piece } from "./diff.ts";

interface ChangesProps {
  readonly names: readonly [before: string, after: string];
  readonly before: string;
  readonly after: string;
}

export function Changes({ names, before, after }: ChangesProps) {
  const rows = useMemo(() => changedRows(before, after), [before, after]);
  const same = rows.filter(({ changed }) => !changed).length;
  const name = `Changes from ${names[0]} to ${names[1]}`;
  return (
    <div class="changes-table" tabIndex={0} role="group" aria-label={name}>
      <table>
        <caption class="small muted">
          {name}. {same > 0 && `Unchanged paragraphs: ${same}.`}
        </caption>
        <thead>
          <tr>
            {names.map((each) => <th key={each} scope="col">{capitalized(each)}</th>)}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) =>
            row.changed && (
              <tr key={at}>
                <td dir="auto">
                  <Pieces pieces={row.before} tag="del" />
                </td>
                <td dir="auto">
                  <Pieces pieces={row.after} tag="ins" />
                </td>
              </tr>
            )
          )}
        </tbody>
      </table>
    </div>
  );
}

function Pieces({ pieces, tag: Tag }: { pieces: readonly Piece[]; tag: "ins" | "del" }) {
  return (
    <>
      {pieces.map(({ text, changed }, at) =>
        changed ? <Tag key={at}>{text}</Tag> : <span key={at}>{text}</span>
      )}
    </>
  );
}
