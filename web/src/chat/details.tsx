// The details of a turn: state, model, calls, cost; the tools that it was sealed with; sandbox; files; context.

import type { VNode } from "preact";
import { address, path } from "../api/client";
import type { Agent, Answer, Message } from "../api/types";
import { to } from "../state/router";
import { count, oneLine, plain, RUN_WORDS, secondOf, took } from "../text/words";
import { Icon } from "../ui/icons";
import { Meter } from "../ui/meter";

/** What is known of the newest turn. */
export function TurnDetails({ agent, messages }: { agent: Agent; messages: Message[] }): VNode {
  const turn = messages.findLast((message): message is Answer => message.role === "assistant");
  const files = messages.flatMap((message) =>
    message.role === "assistant" ? message.parts.flatMap((part) => (part.type === "attachment" ? [{ part, message }] : [])) : [],
  );
  const counts = turn?.sealed ?? agent.counts;
  const usage = turn?.usage;
  const calls = turn?.activity.filter((step) => step.kind === "call") ?? [];
  const done = calls.filter((step) => step.kind === "call" && step.state === "done").length;
  return (
    <>
      {turn && (
        <section class="sec">
          <dl class="dl">
            <dt>State</dt><dd>{RUN_WORDS[turn.status]}</dd>
            <dt>Started</dt><dd>{secondOf(turn.createdAt)}</dd>
            {turn.durationMs !== undefined && <><dt>Took</dt><dd class="num">{took(turn.durationMs)}</dd></>}
            <dt>Model</dt><dd><bdi>{oneLine(turn.model ?? agent.model)}</bdi></dd>
            <dt>Calls</dt><dd class="num">{calls.length}{calls.length !== done ? ` (${done} done)` : ""}</dd>
            <dt>Cost</dt><dd class="num">{usage?.costUsd === undefined ? "Not priced" : `$${usage.costUsd.toFixed(4)}`}</dd>
            {usage?.inputTokens !== undefined && <><dt>Tokens</dt><dd class="num">{usage.inputTokens.toLocaleString()} in, {(usage.outputTokens ?? 0).toLocaleString()} out</dd></>}
            {turn.runId && <><dt>Run</dt><dd><a href={to(agent.id, "runs", turn.runId)}><code>{turn.runId.slice(0, 18)}</code></a></dd></>}
          </dl>
        </section>
      )}
      {counts && (
        <section class="sec">
          <h3>{turn ? "Tools sealed for this turn" : "Tools of the next turn"}</h3>
          <Meter
            label={`${count(counts.free, "tool")} run freely, ${counts.ask} ask first, ${counts.withheld} withheld`}
            parts={[[counts.free, ""], [counts.ask, "ask-first"], [counts.withheld, "no"]]}
          />
          <ul class="legend num">
            <li><i />Run freely<span>{counts.free}</span></li>
            <li><i class="ask-first" />Ask first<span>{counts.ask}</span></li>
            <li><i class="no" />Withheld<span>{counts.withheld}</span></li>
          </ul>
          <a href={to(agent.id, "tools")}>See why, tool by tool</a>
        </section>
      )}
      <section class="sec">
        <h3>Sandbox</h3>
        <p class="why"><bdi>{plain(agent.sandbox.text)}</bdi></p>
      </section>
      {files.length > 0 && (
        <section class="sec">
          <h3>Files <span>{files.length}</span></h3>
          {files.map(({ part, message }) => (
            <div class="mini" key={part.id}>
              <Icon name={part.mediaType.startsWith("image/") ? "image" : "file"} />
              <span class="cut"><bdi>{oneLine(part.name)}</bdi></span>
              <a class="btn icon quiet" href={address(path("threads", message.threadId, "messages", message.id, "files", part.id))} download={oneLine(part.name)} aria-label={`Download ${oneLine(part.name)}`}><Icon name="save" small /></a>
            </div>
          ))}
        </section>
      )}
      {usage?.contextTokens !== undefined && usage.contextWindow !== undefined && (
        <section class="sec">
          <h3>Context <span>{Math.round((usage.contextTokens / usage.contextWindow) * 100)} % of {Math.round(usage.contextWindow / 1000)}k, last measured</span></h3>
          <Meter
            label={`${Math.round((usage.contextTokens / usage.contextWindow) * 100)} percent used`}
            parts={[[usage.contextTokens, ""], [Math.max(0, usage.contextWindow - usage.contextTokens), "no"]]}
          />
        </section>
      )}
    </>
  );
}
