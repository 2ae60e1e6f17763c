// The page's title: what the screen shows, then the product.

import { useEffect } from "preact/hooks";

export function useTitle(text: string): void {
  useEffect(() => {
    document.title = text ? `${text} · Leadhand` : "Leadhand";
  }, [text]);
}
