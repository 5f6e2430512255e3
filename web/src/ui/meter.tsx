// A bar of parts. Measured values reach the style sheet as custom properties set through the DOM, never as markup.

import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Sets custom properties on an element. */
export function useVars<E extends HTMLElement>(vars: Record<string, string>) {
  const ref = useRef<E>(null);
  useLayoutEffect(() => {
    for (const [name, value] of Object.entries(vars)) ref.current?.style.setProperty(name, value);
  });
  return ref;
}

function Part({ share, kind }: { share: number; kind: string }): VNode {
  const ref = useVars<HTMLElement>({ "--share": String(share) });
  return <i class={kind} ref={ref} />;
}

/** A bar whose parts are as wide as their numbers. */
export function Meter({ label, parts }: { label: string; parts: [number, string][] }): VNode {
  return (
    <div class="meter" role="img" aria-label={label}>
      {parts.filter(([n]) => n > 0).map(([n, kind]) => <Part key={kind} share={n} kind={kind} />)}
    </div>
  );
}
