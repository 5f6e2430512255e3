// What can be done with a conversation: rename, pin, archive, restore, delete.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { ApiError } from "../api/client";
import type { Thread } from "../api/types";
import { go, route, to } from "../state/router";
import { alarm } from "../state/say";
import { deleteThread, patchThread } from "../state/store";
import { oneLine, plain } from "../text/words";
import { Icon } from "../ui/icons";
import { Confirm, Menu, Modal } from "../ui/overlay";
import type { MenuItem } from "../ui/overlay";

/** The menu of one conversation. */
export function ThreadMenu(props: { row: Thread; class?: string; opener?: { current: (() => void) | null } }): VNode {
  const { row } = props;
  const [asking, setAsking] = useState<"rename" | "delete" | null>(null);
  const [busy, setBusy] = useState(false);
  const trying = async (work: () => Promise<void>) => {
    setBusy(true);
    try {
      await work();
    } catch (error) {
      alarm(plain((error as ApiError).message));
    } finally {
      setBusy(false);
    }
  };
  const items: MenuItem[] = [
    { label: "Rename", icon: "pen", act: () => setAsking("rename") },
    ...(row.archived
      ? [
          { label: "Restore", icon: "restart" as const, act: () => void trying(() => patchThread(row.id, { archived: false })) },
          null,
          { label: "Delete", icon: "close" as const, danger: true, act: () => setAsking("delete") },
        ]
      : [
          { label: row.pinned ? "Unpin" : "Pin", icon: "pin" as const, act: () => void trying(() => patchThread(row.id, { pinned: !row.pinned })) },
          { label: "Archive", icon: "save" as const, act: () => void trying(() => patchThread(row.id, { archived: true })) },
        ]),
  ];
  const remove = (yes: boolean) => {
    if (!yes) return setAsking(null);
    void trying(async () => {
      await deleteThread(row.id);
      setAsking(null);
      if (route.peek().item === row.id) go(to(row.agentId, "chats"), true);
    });
  };
  return (
    <>
      <Menu label={`More actions for ${oneLine(row.title)}`} items={items} class={props.class} opener={props.opener}><Icon name="more" /></Menu>
      {asking === "rename" && <Rename row={row} close={() => setAsking(null)} />}
      {asking === "delete" && (
        <Confirm
          title={`Delete “${oneLine(row.title)}”?`} danger busy={busy} action="Delete conversation" done={remove}
          text={<p>Its messages and files go for good. The record of its runs stays in the log.</p>}
        />
      )}
    </>
  );
}

/** Gives a conversation a name that stays. */
export function Rename({ row, close }: { row: Thread; close: () => void }): VNode {
  const [title, setTitle] = useState(row.title);
  const [wrong, setWrong] = useState<string | null>(null);
  const save = async (event: Event) => {
    event.preventDefault();
    try {
      await patchThread(row.id, { title: title.trim() });
      close();
    } catch (error) {
      setWrong(plain((error as ApiError).message));
    }
  };
  return (
    <Modal kind="dialog" label="Rename the conversation" close={close}>
      <form class="stack" onSubmit={(event) => void save(event)}>
        <h2 class="h-ask">Rename the conversation</h2>
        <label class="stack">
          Title
          <input
            class="text" data-first value={title} maxLength={80} required aria-invalid={wrong ? true : undefined}
            aria-describedby="rename-d" onInput={(event) => setTitle(event.currentTarget.value)}
          />
        </label>
        <p class={wrong ? "error" : "why"} id="rename-d" role={wrong ? "alert" : undefined}>{wrong ?? "The agent will not change a title that you gave."}</p>
        <div class="acts">
          <button type="submit" class="btn primary" disabled={!title.trim()}>Rename</button>
          <button type="button" class="btn" onClick={close}>Cancel</button>
        </div>
      </form>
    </Modal>
  );
}
