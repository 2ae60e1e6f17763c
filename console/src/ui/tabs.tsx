// Tabs that follow the ARIA authoring practices: one stop for the Tab key, arrows between them.

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

interface Tab {
  readonly name: string;
  readonly label: ComponentChildren;
}

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly selected: string;
  readonly onSelect: (name: string) => void;
  /** The content of the selected tab. */
  readonly children: ComponentChildren;
}

export function Tabs({ label, tabs, selected, onSelect, children }: TabsProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    // Not scrollIntoView, which would scroll the page, too.
    const tab = list.current?.querySelector<HTMLElement>("[aria-selected=true]");
    if (!tab || !list.current) return;
    const { scrollLeft, clientWidth } = list.current;
    const end = tab.offsetLeft + tab.offsetWidth;
    list.current.scrollLeft = Math.min(tab.offsetLeft, Math.max(scrollLeft, end - clientWidth));
  }, [selected]);
  function move(event: KeyboardEvent): void {
    const at = tabs.findIndex((tab) => tab.name === selected);
    const to = event.key === "ArrowRight"
      ? at + 1
      : event.key === "ArrowLeft"
      ? at - 1
      : event.key === "Home"
      ? 0
      : event.key === "End"
      ? tabs.length - 1
      : null;
    if (to === null) return;
    event.preventDefault();
    const next = (to + tabs.length) % tabs.length;
    onSelect(tabs[next]!.name);
    list.current?.querySelectorAll<HTMLButtonElement>("[role=tab]")[next]?.focus();
  }
  return (
    <div class="tabs">
      <div class="tab-list" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            key={tab.name}
            type="button"
            role="tab"
            id={`${id}-${tab.name}`}
            aria-selected={tab.name === selected}
            aria-controls={`${id}-panel`}
            tabIndex={tab.name === selected ? 0 : -1}
            onClick={() => onSelect(tab.name)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div
        class="tab-panel"
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${selected}`}
        tabIndex={0}
      >
        {children}
      </div>
    </div>
  );
}
