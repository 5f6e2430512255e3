// What lies over the page: dialogs, sheets and menus. The browser's own <dialog> and popover trap and give back focus.

import type { ComponentChildren, VNode } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "./icons";
import type { IconName } from "./icons";

type ModalProps = {
  /** What a screen reader calls it. */
  label: string;
  kind: "dialog" | "details" | "list";
  role?: "dialog" | "alertdialog";
  close: () => void;
  children: ComponentChildren;
};

/** A modal dialog, or a pane as a sheet. Esc and a press beside it close it. */
export function Modal({ label, kind, role = "dialog", close, children }: ModalProps): VNode {
  const ref = useRef<HTMLDialogElement>(null);
  const last = useRef(close);
  last.current = close;
  useEffect(() => {
    const it = ref.current!;
    const before = document.activeElement as HTMLElement | null;
    it.showModal();
    it.querySelector<HTMLElement>("[data-first]")?.focus();
    return () => {
      it.close();
      if (before?.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={`over ${kind}`}
      role={role}
      aria-modal="true"
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault();
        last.current();
      }}
      onMouseDown={(event) => {
        if (event.target === ref.current) last.current();
      }}
    >
      <div class="over-in">{children}</div>
    </dialog>
  );
}

/** A question before something that can't be undone. Cancel has the focus. */
export function Confirm(props: {
  title: string; text: ComponentChildren; action: string; danger?: boolean; busy?: boolean; done: (yes: boolean) => void;
}): VNode {
  return (
    <Modal kind="dialog" role="alertdialog" label={props.title} close={() => props.done(false)}>
      <h2 class="h-ask">{props.title}</h2>
      <div class="why">{props.text}</div>
      <div class="acts">
        <button type="button" class={props.danger ? "btn danger" : "btn primary"} disabled={props.busy} onClick={() => props.done(true)}>
          {props.action}
        </button>
        <button type="button" class="btn" data-first onClick={() => props.done(false)}>Cancel</button>
      </div>
    </Modal>
  );
}

export type MenuItem = { label: string; icon?: IconName; danger?: boolean; checked?: boolean; act: () => void } | null;

type MenuProps = {
  label: string;
  items: MenuItem[];
  children: ComponentChildren;
  class?: string;
  /** Rows that are chosen among, rather than done. */
  choice?: boolean;
  /** Opens it too, for a press with the other button of the mouse. */
  opener?: { current: (() => void) | null };
};

/** A button with a menu (APG): arrows move, Esc closes and gives the focus back. */
export function Menu({ label, items, children, class: name = "btn icon quiet", choice = false, opener }: MenuProps): VNode {
  const button = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const id = useId();
  const rows = () => [...menu.current!.querySelectorAll<HTMLElement>("[role^=menuitem]")];

  const show = () => {
    const it = menu.current!;
    it.showPopover();
    place(it, button.current!);
    (rows().find((row) => row.getAttribute("aria-checked") === "true") ?? rows()[0])?.focus();
  };
  if (opener) opener.current = show;

  const key = (event: KeyboardEvent) => {
    const list = rows();
    const at = list.indexOf(document.activeElement as HTMLElement);
    const next: Record<string, number> = {
      ArrowDown: (at + 1) % list.length, ArrowUp: (at - 1 + list.length) % list.length, Home: 0, End: list.length - 1,
    };
    if (event.key in next) {
      event.preventDefault();
      list[next[event.key]!]?.focus();
    } else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey) {
      const typed = event.key.toLowerCase();
      const ordered = [...list.slice(at + 1), ...list.slice(0, at + 1)];
      ordered.find((row) => row.textContent?.trim().toLowerCase().startsWith(typed))?.focus();
    } else if (event.key === "Tab") {
      menu.current!.hidePopover();
    } else {
      return;
    }
    event.stopPropagation();
  };

  const role = choice ? "menuitemradio" : "menuitem";
  return (
    <>
      <button
        ref={button} type="button" class={name} aria-haspopup="menu" aria-label={label} aria-controls={id}
        onClick={show}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            event.preventDefault();
            event.stopPropagation();
            show();
          }
        }}
      >
        {children}
      </button>
      <div
        ref={menu} id={id} class="menu" role="menu" aria-label={label} popover="auto" onKeyDown={key}
        onToggle={(event) => {
          const isOpen = (event as ToggleEvent).newState === "open";
          button.current?.setAttribute("aria-expanded", String(isOpen));
          if (!isOpen && menu.current?.contains(document.activeElement)) button.current?.focus();
        }}
      >
        {items.map((item) =>
          item ? (
            <button
              type="button" role={role} aria-checked={choice ? Boolean(item.checked) : undefined} tabIndex={-1}
              class={item.danger ? "danger" : undefined}
              onClick={() => {
                menu.current!.hidePopover();
                button.current?.focus();
                item.act();
              }}
            >
              {item.icon && <Icon name={item.icon} small />}
              <span class="cut">{item.label}</span>
            </button>
          ) : (
            <hr />
          ),
        )}
      </div>
    </>
  );
}

/** Puts a menu below its button, or above it where there is no room, within the window. */
function place(menu: HTMLElement, button: HTMLElement): void {
  const at = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = menu;
  const left = Math.max(8, Math.min(at.left, innerWidth - width - 8));
  const below = at.bottom + 4 + height <= innerHeight - 8;
  const top = below ? at.bottom + 4 : Math.max(8, at.top - 4 - height);
  menu.style.setProperty("left", `${left}px`);
  menu.style.setProperty("top", `${top}px`);
}
