// What models write, as Preact nodes: Markdown without any way to HTML, scripts or pictures from elsewhere.

import type { ComponentChildren, JSX } from "preact";
import { type Align, type Block, blocksOf } from "./markdown/blocks.ts";
import { type Inline } from "./markdown/inlines.ts";

export interface MarkdownProps {
  readonly text: string;
  /** The level that a heading "#" gets here; deeper ones follow. */
  readonly top?: 2 | 3 | 4;
}

export function Markdown({ text, top = 3 }: MarkdownProps) {
  return <div class="prose">{blocksOf(text).map((block, at) => drawn(block, at, top))}</div>;
}

function drawn(block: Block, key: number, top: number): JSX.Element {
  switch (block.kind) {
    case "paragraph":
      return <p key={key}>{line(block.parts)}</p>;
    case "heading": {
      const Heading = `h${Math.min(6, top - 1 + block.level)}` as "h3";
      return <Heading key={key}>{line(block.parts)}</Heading>;
    }
    case "code":
      return <pre key={key} tabIndex={0}><code>{block.text}</code></pre>;
    case "quote":
      return (
        <blockquote key={key}>{block.blocks.map((inner, at) => drawn(inner, at, top))}</blockquote>
      );
    case "list": {
      const items = block.items.map((item, at) => <li key={at}>{inItem(item, top)}</li>);
      return block.ordered
        ? <ol key={key} start={block.start}>{items}</ol>
        : <ul key={key}>{items}</ul>;
    }
    case "table":
      return (
        <div key={key} class="prose-table" tabIndex={0} role="group" aria-label="Table">
          <table>
            <thead>
              <tr>
                {block.head.map((cell, at) => (
                  <th key={at} scope="col" style={aligned(block.align[at])}>{line(cell)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {block.rows.map((row, at) => (
                <tr key={at}>
                  {row.map((cell, column) => (
                    <td key={column} style={aligned(block.align[column])}>{line(cell)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case "rule":
      return <hr key={key} />;
  }
}

/** A paragraph that leads an item stands without its own margins. */
function inItem(item: readonly Block[], top: number): ComponentChildren {
  return item.map((block, at) =>
    at === 0 && block.kind === "paragraph"
      ? <span key={at}>{line(block.parts)}</span>
      : drawn(block, at, top)
  );
}

function line(parts: readonly Inline[]): ComponentChildren {
  return parts.map((part, key) => {
    switch (part.kind) {
      case "text":
        return part.text;
      case "code":
        return <code key={key}>{part.text}</code>;
      case "strong":
        return <strong key={key}>{line(part.parts)}</strong>;
      case "emphasis":
        return <em key={key}>{line(part.parts)}</em>;
      case "strike":
        return <s key={key}>{line(part.parts)}</s>;
      case "break":
        return <br key={key} />;
      case "link":
        return (
          <a
            key={key}
            href={part.href}
            title={part.href}
            target="_blank"
            rel="noopener noreferrer nofollow"
          >
            {line(part.parts)}
          </a>
        );
    }
  });
}

function aligned(align: Align | undefined): { textAlign: "left" | "center" | "right" } | undefined {
  return align ? { textAlign: align } : undefined;
}
