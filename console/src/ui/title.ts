// The page's title: the screen, then the product.

import { useEffect } from "preact/hooks";

export function useTitle(text: string): void {
  useEffect(() => {
    document.title = text ? `${text} · Leadhand` : "Leadhand";
  }, [text]);
}
