// Keeps a fault of one screen from taking the page along.

import { Component } from "preact";
import type { ComponentChildren } from "preact";

/** Shows its children, or that they can't be shown. */
export class Guard extends Component<{ children: ComponentChildren }, { broken: boolean }> {
  override state = { broken: false };

  override componentDidCatch(error: unknown): void {
    console.error(error);
    this.setState({ broken: true });
  }

  override render(): ComponentChildren {
    if (!this.state.broken) return this.props.children;
    return (
      <main class="main" id="main" tabIndex={-1}>
        <div class="middle">
          <div class="empty" role="alert">
            <h1 class="empty-h">This screen can’t be shown</h1>
            <p>That is a fault of the console. Nothing that runs is affected.</p>
            <a class="btn" href={location.href} target="_self">Load the page anew</a>
          </div>
        </div>
      </main>
    );
  }
}
