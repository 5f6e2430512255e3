// Screens that are loaded when they are first opened.

import type { ComponentType, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Bones } from "./pieces";

/** A component whose code comes when it is first shown. */
export function lazy(load: () => Promise<ComponentType>): () => VNode | null {
  let there: ComponentType | null = null;
  return function Lazy() {
    const [, seen] = useState(there !== null);
    const [failed, setFailed] = useState(false);
    useEffect(() => {
      if (there) return;
      load().then(
        (it) => {
          there = it;
          seen(true);
        },
        () => setFailed(true),
      );
    }, []);
    if (there) {
      const Loaded = there;
      return <Loaded />;
    }
    return (
      <main class="main" id="main" tabIndex={-1}>
        <div class="page">
          {failed ? <p role="alert">This screen can’t be loaded. The console may have been upgraded: <a href={location.href} target="_self">load the page anew</a>.</p> : <Bones label="Loading" />}
        </div>
      </main>
    );
  };
}
