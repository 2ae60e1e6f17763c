// Form fields: a label, the control, a hint and an error, connected for assistive technology.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

export interface Described {
  readonly id: string;
  readonly "aria-describedby"?: string;
  readonly "aria-invalid"?: true;
}

export interface FieldProps {
  readonly label: ComponentChildren;
  readonly hint?: ComponentChildren;
  /** What is wrong with the value. */
  readonly wrong?: string | null;
  readonly class?: string;
  /** The control, given the attributes that connect it to its label, hint and error. */
  readonly children: (described: Described) => ComponentChildren;
}

export function Field({ label, hint, wrong, class: named = "", children }: FieldProps) {
  const id = useId();
  const described = [hint && `${id}-hint`, wrong && `${id}-wrong`].filter(Boolean).join(" ");
  return (
    <div class={`field ${named}`}>
      <label for={id}>{label}</label>
      {children({
        id,
        ...(described && { "aria-describedby": described }),
        ...(wrong && { "aria-invalid": true as const }),
      })}
      {hint && <p class="hint" id={`${id}-hint`}>{hint}</p>}
      {wrong && (
        <p class="wrong" id={`${id}-wrong`}>
          <span aria-hidden="true">▲</span> {wrong}
        </p>
      )}
    </div>
  );
}
