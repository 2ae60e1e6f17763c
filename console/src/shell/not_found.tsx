// The screen for an unknown path.

import { place } from "../router.ts";
import { useTitle } from "../ui/title.ts";

export function NotFound() {
  useTitle("Page not found");
  return (
    <section class="empty">
      <h1>Page not found</h1>
      <p>
        There is no page at <code>{place.value.path}</code>. <a href="/runs">All runs</a>
      </p>
    </section>
  );
}
