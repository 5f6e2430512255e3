// The address says which screen shows what; nothing else does. Back works, a reload lands on the same thing.

import { signal } from "@preact/signals";

/** The screens, as they stand in an address. */
export const SCREENS = ["chats", "runs", "tools", "servers", "memory", "audit"] as const;
export type ScreenName = (typeof SCREENS)[number];

/** Where the page is. */
export type Route = {
  /** The agent, where the address names one. */
  agent: string | null;
  screen: ScreenName | "settings" | "more" | "home";
  /** The conversation, run, tool, server or day. */
  item: string | null;
  query: URLSearchParams;
};

/** Reads an address. */
export function routeOf(pathname: string, search: string): Route {
  const query = new URLSearchParams(search);
  const parts = pathname.split("/").filter(Boolean).map(unescaped);
  if (parts[0] === "settings") return { agent: null, screen: "settings", item: parts[1] ?? null, query };
  if (parts[0] === "more") return { agent: null, screen: "more", item: null, query };
  const screen = SCREENS.find((name) => name === parts[2]);
  if (parts[0] === "agents" && parts[1] && screen) return { agent: parts[1], screen, item: parts[3] ?? null, query };
  return { agent: parts[0] === "agents" ? (parts[1] ?? null) : null, screen: "home", item: null, query };
}

function unescaped(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a screen of an agent, and of one thing on it. */
export function to(agent: string, screen: ScreenName, item?: string | null, query?: Record<string, string>): string {
  const parts = ["agents", agent, screen, ...(item ? [item] : [])];
  const more = query ? "?" + new URLSearchParams(query).toString() : "";
  return "/" + parts.map(encodeURIComponent).join("/") + more;
}

export const route = signal<Route>(
  typeof location === "undefined" ? routeOf("/", "") : routeOf(location.pathname, location.search),
);

/** Goes somewhere. */
export function go(href: string, replace = false): void {
  if (href === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", href);
  route.value = routeOf(location.pathname, location.search);
}

/** Lets links within the console change the page without loading it anew. */
export function startRouter(): void {
  addEventListener("popstate", () => (route.value = routeOf(location.pathname, location.search)));
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest?.("a[href]") as HTMLAnchorElement | null;
    if (!link || link.target || link.hasAttribute("download")) return;
    const url = new URL(link.href);
    if (url.origin !== location.origin || url.pathname.startsWith("/api/")) return;
    if (url.hash && url.pathname === location.pathname) return;
    event.preventDefault();
    go(url.pathname + url.search);
  });
}
