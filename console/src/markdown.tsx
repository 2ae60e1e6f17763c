// Model text as Preact nodes. (Being written.)

export function Markdown({ text }: { text: string }) {
  return <div class="prose">{text}</div>;
}
