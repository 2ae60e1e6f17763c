// A button that copies text and confirms it.

import { useEffect, useState } from "preact/hooks";
import { announce } from "./announce.tsx";
import { Button } from "./button.tsx";

interface CopyProps {
  readonly text: string;
  /** What is copied: "command". */
  readonly what: string;
  readonly children?: string;
}

export function Copy({ text, what, children = "Copy" }: CopyProps) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
    } catch { // not a secure context, or not allowed
      announce(`Could not copy ${what}. Select the text and copy it yourself`);
      return;
    }
    setCopied(true);
    announce(`Copied ${what}`);
  }
  return (
    <Button kind="quiet" small label={`Copy ${what}`} onClick={copy}>
      {copied ? "Copied" : children}
    </Button>
  );
}
