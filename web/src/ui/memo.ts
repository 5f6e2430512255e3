// Draws again only what changed.

import { Component, h } from "preact";
import type { ComponentType, FunctionComponent, VNode } from "preact";

/** A component that is drawn again only where `same` says no. */
export function memo<P extends object>(of: FunctionComponent<P>, same: (before: P, after: P) => boolean): ComponentType<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      return !same(this.props as P, next);
    }
    override render(): VNode {
      return h(of as FunctionComponent<object>, this.props as object);
    }
  };
}
