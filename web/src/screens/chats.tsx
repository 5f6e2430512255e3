// Conversations: the list, the open one or a new one, and the details of its newest turn.

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { change } from "../api/client";
import type { Agent, Thread } from "../api/types";
import { Composer, dropped } from "../chat/composer";
import type { Uploads } from "../chat/uploads";
import { TurnDetails } from "../chat/details";
import { Dock } from "../chat/dock";
import { Transcript } from "../chat/transcript";
import { Conversation, open } from "../state/conversation";
import { go, route, to } from "../state/router";
import { alarm } from "../state/say";
import { agent as current, agents, patchThread, threads } from "../state/store";
import { count, oneLine, plain } from "../text/words";
import { Badge, Icon } from "../ui/icons";
import { Back, detailsShown, ListButton, Panes, toggleDetails } from "../ui/panes";
import { Empty, Failed } from "../ui/pieces";
import { ConnectionLine } from "../ui/shell";
import { ConversationList } from "./list";
import { Rename, ThreadMenu } from "./thread-menu";

/** The screen. */
export function Chats(): VNode {
  const { item } = route.value;
  const agent = current.value;
  const talk = open.value;
  const main =
    !agent ? <Nobody /> : item === "new" ? <New agent={agent} /> : talk ? <Talk key={talk.id} talk={talk} agent={agent} /> : <Nothing agent={agent} />;
  const row = talk ? threads.value.get(talk.id) : null;
  const owner = row ? agents.value.find((it) => it.id === row.agentId) : agent;
  return (
    <Panes
      talk={Boolean(item)} list={<ConversationList />} listLabel="Conversations" phone={item ? "main" : "list"} main={main}
      side={talk && owner && talk.state.value === "ready" ? { title: "This turn", body: <TurnDetails agent={owner} messages={talk.messages.value} /> } : null}
    />
  );
}

function Nobody(): VNode {
  return (
    <div class="middle">
      <h1 class="sr">Chats</h1>
      <Empty icon="chats" title="No agent runs on this machine">
        <p>Start one in its folder, and it appears here by itself.</p>
        <p><code>mono-agent start</code></p>
      </Empty>
    </div>
  );
}

function Nothing({ agent }: { agent: Agent }): VNode {
  return (
    <>
      <header class="bar"><ListButton label="All conversations" /><div class="grow"><h1 class="sr">Chats</h1></div></header>
      <ConnectionLine />
      <div class="middle"><Intro agent={agent} ask={(text) => go(to(agent.id, "chats", "new", { text }))} /></div>
    </>
  );
}

const PROMPTS = ["What can you do?", "What is in this folder?"];

/** What the agent can do here, and two ways to begin. */
function Intro({ agent, ask }: { agent: Agent; ask: (text: string) => void }): VNode {
  const counts = agent.counts;
  const ready = counts ? counts.free + counts.ask : null;
  return (
    <Empty icon="chats" title={`Ask ${plain(agent.name)} something`}>
      {ready !== null && (
        <p>{ready === 0 ? "No tools. This agent can only talk." : `${count(ready, "tool")} ${ready === 1 ? "is" : "are"} ready here.${counts!.ask > 0 ? ` ${counts!.ask} of them ask you first.` : ""}`}</p>
      )}
      <div class="quick">{PROMPTS.map((text) => <button key={text} type="button" class="btn" onClick={() => ask(text)}>{text}</button>)}</div>
    </Empty>
  );
}

function New({ agent }: { agent: Agent }): VNode {
  const [model, setModel] = useState<string | null>(null);
  const begin = async (text: string, files: Uploads | null) => {
    const thread = await change<Thread>("POST", "/threads", { agentId: agent.id });
    if (model) await patchThread(thread.id, { model });
    const talk = new Conversation(thread.id);
    await talk.submit(text, files?.taken() ?? []);
    talk.state.value = "ready";
    open.value = talk;
    go(to(agent.id, "chats", thread.id), true);
  };
  const asked = (text: string) => void begin(text, null).catch((error: Error) => alarm(plain(error.message)));
  return (
    <>
      <header class="bar">
        <Back href={to(agent.id, "chats")} label="All conversations" />
        <ListButton label="All conversations" />
        <div class="grow"><h1 class="cut">New conversation</h1><p class="sub cut"><bdi>{plain(agent.name)}</bdi></p></div>
        <SandboxState agent={agent} />
      </header>
      <ConnectionLine />
      <div class="scroll middle" tabIndex={0} role="region" aria-label="Messages"><Intro agent={agent} ask={asked} /></div>
      <div class="foot">
        <Composer agent={agent} draftKey={`new ${agent.id}`} talk={null} row={null} running={false} send={begin} fresh={{ model, setModel }} />
      </div>
    </>
  );
}

function Talk({ talk, agent: ruling }: { talk: Conversation; agent: Agent }): VNode {
  const row = threads.value.get(talk.id) ?? null;
  const agent = agents.value.find((it) => it.id === row?.agentId) ?? ruling;
  const name = plain(agent.name);
  const running = talk.messages.value.some((message) => message.role === "assistant" && (message.status === "running" || message.status === "waiting"));
  const [over, setOver] = useState(false);
  if (talk.state.value === "gone") {
    return (
      <>
        <header class="bar"><Back href={to(ruling.id, "chats")} label="All conversations" /><ListButton label="All conversations" /><div class="grow"><h1>Not here</h1></div></header>
        <div class="middle"><Empty icon="chats" title="This conversation is gone"><p>It was deleted, or it never was on this console.</p><a class="btn" href={to(ruling.id, "chats")}>All conversations</a></Empty></div>
      </>
    );
  }
  const writable = row && !row.readOnly && !row.archived;
  const reply = (label: string) => void talk.submit(label, []).catch((error: Error) => alarm(plain(error.message)));
  return (
    <div
      class={over ? "drop over" : "drop"}
      onDragOver={(event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={(event) => event.currentTarget === event.target && setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        dropped.dispatchEvent(new CustomEvent("files", { detail: [...(event.dataTransfer?.files ?? [])] }));
      }}
    >
      <Head talk={talk} row={row} agent={agent} />
      <ConnectionLine />
      {talk.state.value === "failed" ? (
        <div class="scroll pad" tabIndex={0} role="region" aria-label="Messages"><Failed error={talk.error.value!} again={() => void talk.load()} what="This conversation can't be read." /></div>
      ) : (
        <Transcript talk={talk} agent={name} reply={reply} />
      )}
      <div class="foot">
        <Dock talk={talk} agent={name} />
        {writable && (
          <Composer agent={agent} draftKey={talk.id} talk={talk} row={row} running={running} send={(text, files) => talk.submit(text, files.taken())} />
        )}
        {row?.archived && <p class="closed">This conversation is archived. <button type="button" class="link" onClick={() => void patchThread(row.id, { archived: false })}>Restore it</button> to write here.</p>}
        {row?.readOnly && !row.archived && <p class="closed">Nobody writes here. <a href={to(agent.id, "chats", "new")}>Begin a new conversation</a></p>}
      </div>
    </div>
  );
}

function Head({ talk, row, agent }: { talk: Conversation; row: Thread | null; agent: Agent }): VNode {
  const [renaming, setRenaming] = useState(false);
  const title = row ? oneLine(row.title) : "Conversation";
  const sealed = talk.messages.value.findLast((message) => message.role === "assistant" && message.sealed);
  const counts = (sealed?.role === "assistant" ? sealed.sealed : undefined) ?? agent.counts;
  const facts = [plain(agent.name), ...(counts ? [`${count(counts.free + counts.ask, "tool")} this turn`] : []), ...(agent.sandbox.state === "on" ? ["sandbox on"] : [])];
  return (
    <header class="bar">
      <Back href={to(agent.id, "chats")} label="All conversations" />
      <ListButton label="All conversations" />
      <div class="grow">
        <h1 class="cut">
          {row ? <button type="button" class="title cut" title="Rename" onClick={() => setRenaming(true)}><bdi>{title}</bdi></button> : title}
        </h1>
        <p class="sub cut"><bdi>{facts.join(" · ")}</bdi></p>
      </div>
      <SandboxState agent={agent} />
      {row && !row.archived && (
        <button
          type="button" class="btn icon quiet not-phone" aria-pressed={row.pinned} aria-label="Pinned"
          onClick={() => void patchThread(row.id, { pinned: !row.pinned }).catch((error: Error) => alarm(plain(error.message)))}
        >
          <Icon name="pin" />
        </button>
      )}
      <button type="button" class="btn icon quiet" aria-label="Turn details" aria-pressed={detailsShown()} onClick={() => toggleDetails()}><Icon name="panel" /></button>
      {row && <ThreadMenu row={row} />}
      {renaming && row && <Rename row={row} close={() => setRenaming(false)} />}
    </header>
  );
}

function SandboxState({ agent }: { agent: Agent }): VNode | null {
  const words: Record<string, string> = { off: "Sandbox off", unsafe: "No sandbox", blocked: "Sandbox blocked" };
  const word = words[agent.sandbox.state];
  return word ? <Badge mark="refused" word={word} /> : null;
}
