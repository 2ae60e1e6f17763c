// Render Markdown that models and tools wrote as Preact elements, without HTML, scripts or pictures.

import MarkdownIt from "markdown-it";
import { type ComponentChildren, createElement } from "preact";
import { Copy } from "./ui/copy.tsx";
import { isSafe, OuterLink } from "./ui/outer_link.tsx";

interface MarkdownProps {
  readonly text: string;
  /** The heading level of a "#" heading; deeper headings follow. */
  readonly top?: 2 | 3 | 4;
  readonly annotate?: Annotate;
}

/** Changes what is rendered. */
export interface Annotate {
  /** Return what to show for a piece of text. */
  text(text: string): ComponentChildren[];
  /** Return what to show for the content of an element; a text is given as `text` returned it. */
  content(children: ComponentChildren[]): ComponentChildren[];
  /** Return a text that is shown as it is, such as code. */
  plain(text: string): string;
}

/** Changes nothing. */
const AS_IT_IS: Annotate = {
  text: (text) => [text],
  content: (children) => children,
  plain: (text) => text,
};

const parser = new MarkdownIt({ html: false, linkify: true, maxNesting: 40 });
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
parser.validateLink = isSafe;
parser.normalizeLinkText = (address) => address; // show the address as it was written

type Token = ReturnType<typeof parser.parse>[number];

export function Markdown({ text, top = 3, annotate = AS_IT_IS }: MarkdownProps) {
  return <div class="prose">{render(parser.parse(text, {}), top, annotate)}</div>;
}

/** An element whose closing token has not been read yet. */
interface Open {
  readonly token: Token | null;
  readonly children: ComponentChildren[];
}

/** Turn a flat list of tokens into elements. */
function render(tokens: readonly Token[], top: number, annotate: Annotate): ComponentChildren[] {
  const stack: Open[] = [{ token: null, children: [] }];
  let inLink = false;
  for (const [at, token] of tokens.entries()) {
    if (token.type === "inline" && tokens[at - 2]?.type === "list_item_open") markTask(token);
    if (token.type === "link_open") inLink = true;
    if (token.type === "link_close") inLink = false;
    if (token.nesting > 0) {
      stack.push({ token, children: [] });
      continue;
    }
    const closed = token.nesting < 0 && stack.length > 1 ? stack.pop()! : null;
    const { children } = stack.at(-1)!;
    if (closed?.token) {
      const content = annotate.content(closed.children);
      children.push(container(closed.token, content, children.length, top));
    } else if (token.type === "text") children.push(...annotate.text(token.content));
    else children.push(leaf(token, children.length, top, inLink, annotate));
  }
  return annotate.content(stack[0]!.children);
}

/** Show the box of a task: "[x] done". */
function markTask({ children }: Token): void {
  const first = children?.[0];
  if (first?.type !== "text") return;
  first.content = first.content.replace(/^\[([ xX])\] /, (_, mark) => mark === " " ? "☐ " : "☑ ");
}

function container(
  token: Token,
  children: ComponentChildren[],
  key: number,
  top: number,
): ComponentChildren {
  switch (token.type) {
    case "paragraph_open":
      return token.hidden ? children : <p key={key} dir="auto">{children}</p>;
    case "heading_open": {
      const level = Math.min(6, top - 1 + Number(token.tag.slice(1)));
      return createElement(`h${level}`, { key, dir: "auto" }, children);
    }
    case "ordered_list_open":
      return <ol key={key} dir="auto" start={Number(token.attrGet("start") ?? 1)}>{children}</ol>;
    case "table_open":
      return (
        <div key={key} class="prose-table" tabIndex={0} role="group" aria-label="Table">
          <table>{children}</table>
        </div>
      );
    case "th_open":
      return <th key={key} dir="auto" scope="col" style={alignment(token)}>{children}</th>;
    case "td_open":
      return <td key={key} dir="auto" style={alignment(token)}>{children}</td>;
    case "link_open":
      return <OuterLink key={key} href={String(token.attrGet("href"))}>{children}</OuterLink>;
    default: // tags of the parser, which makes none of those in the text
      return createElement(token.tag, {
        key,
        dir: /^(blockquote|ul|li)$/.test(token.tag) ? "auto" : undefined,
      }, children);
  }
}

function leaf(
  token: Token,
  key: number,
  top: number,
  inLink: boolean,
  annotate: Annotate,
): ComponentChildren {
  switch (token.type) {
    case "inline":
      return render(token.children ?? [], top, annotate);
    case "fence":
    case "code_block": {
      const code = annotate.plain(token.content).replace(/\n$/, "");
      return (
        <div key={key} class="json">
          <pre tabIndex={0}><code>{code}</code></pre>
          <Copy text={code} what="code" />
        </div>
      );
    }
    case "code_inline":
      return <code key={key}>{annotate.plain(token.content)}</code>;
    case "softbreak":
      return "\n";
    case "hardbreak":
      return <br key={key} />;
    case "hr":
      return <hr key={key} />;
    case "image": {
      const words = `image: ${annotate.plain(token.content)}`;
      if (inLink) return words;
      return <OuterLink key={key} href={String(token.attrGet("src"))}>{words}</OuterLink>;
    }
    default:
      return annotate.plain(token.content);
  }
}

function alignment(token: Token): { textAlign: "left" | "center" | "right" } | undefined {
  const found = /text-align:(left|center|right)/.exec(String(token.attrGet("style") ?? ""))?.[1];
  return found ? { textAlign: found as "left" | "center" | "right" } : undefined;
}
