// How the console looks and answers keys; and, read only, how the agent is set and what was always allowed.

import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import { ApiError, change, get, path } from "../api/client";
import type { Agent, ApprovalRules, Settings } from "../api/types";
import { alarm, say } from "../state/say";
import { agent as current, boot, setSettings, settings } from "../state/store";
import { count, dayOf, oneLine, plain, when } from "../text/words";
import { useLoad } from "../ui/hooks";
import { Panes } from "../ui/panes";
import { Confirm } from "../ui/overlay";
import { Bones, Failed, Search } from "../ui/pieces";
import { AgentPicker, ConnectionLine } from "../ui/shell";

type Choice<K extends keyof Settings> = { name: K; label: string; options: [Settings[K], string][] };

const LOOK = [
  { name: "theme", label: "Theme", options: [["system", "As the system"], ["light", "Light"], ["dark", "Dark"]] } satisfies Choice<"theme">,
  { name: "accent", label: "Accent", options: [["evergreen", "Evergreen"], ["ocean", "Ocean"], ["plum", "Plum"], ["terracotta", "Terracotta"]] } satisfies Choice<"accent">,
  { name: "density", label: "Density", options: [["comfortable", "Comfortable"], ["compact", "Compact"]] } satisfies Choice<"density">,
];
const KEYS = { name: "sendKey", label: "Send with", options: [["enter", "Enter"], ["modEnter", "Ctrl Enter"]] } satisfies Choice<"sendKey">;

const set = (part: Partial<Settings>) => void setSettings(part).then(() => say("Saved"), (error: ApiError) => alarm(`Not saved: ${plain(error.message)}`));

/** The screen. */
export function SettingsScreen(): VNode {
  const it = current.value;
  const main = (
    <>
      <header class="bar"><div class="grow"><h1 class="phone-pad">Settings</h1></div><div class="agent end"><AgentPicker /></div></header>
      <ConnectionLine />
      <div class="scroll" tabIndex={0} role="region" aria-label="Settings">
        <div class="page narrow sets">
          <Part title="Look">{LOOK.map((choice) => <Radios key={choice.name} choice={choice as Choice<keyof Settings>} />)}</Part>
          <Part title="Keys">
            <Radios choice={KEYS as Choice<keyof Settings>} />
            <label class="opt check">
              <input type="checkbox" checked={settings.value.letterKeys} onChange={(event) => set({ letterKeys: event.currentTarget.checked })} />
              <bdi>Single letters do things outside fields</bdi>
              <span>Press ? to see which.</span>
            </label>
          </Part>
          {it && <Approvals key={`a${it.id}`} agent={it} />}
          {it && <AgentPart key={`c${it.id}`} agent={it} />}
          <Part title="This console">
            <dl class="dl">
              <dt>Name</dt><dd>{oneLine(boot.value?.console.name ?? "")}</dd>
              <dt>Version</dt><dd>{oneLine(boot.value?.console.version ?? "")}</dd>
              <dt>Reached at</dt><dd>{location.host}</dd>
            </dl>
            {boot.value?.loginRequired && <div class="acts"><button type="button" class="btn" onClick={() => void change("POST", "/logout").then(() => location.reload())}>Sign out</button></div>}
          </Part>
        </div>
      </div>
    </>
  );
  return <Panes listLabel="" phone="main" main={main} />;
}

function Part({ title, note, children }: { title: string; note?: string; children: ComponentChildren }): VNode {
  return (
    <section class="set" aria-label={title}>
      <h2>{title}</h2>
      {note && <p class="why">{note}</p>}
      {children}
    </section>
  );
}

function Radios({ choice }: { choice: Choice<keyof Settings> }): VNode {
  return (
    <fieldset class="radios">
      <legend>{choice.label}</legend>
      <div class="chips">
        {choice.options.map(([value, label]) => (
          <label class="chip" key={String(value)}>
            <input class="sr" type="radio" name={choice.name} checked={settings.value[choice.name] === value} onChange={() => set({ [choice.name]: value })} />
            {choice.name === "accent" && <span class={`swatch ${String(value)}`} aria-hidden="true" />}
            {label}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function Approvals({ agent }: { agent: Agent }): VNode | null {
  const base = `${path("agents", agent.id)}/approvals`;
  const loaded = useLoad(base, () => get<ApprovalRules>(base), false);
  const remove = (id: string) =>
    void change("DELETE", `${base}/${encodeURIComponent(id)}`).then(() => {
      say("Removed");
      loaded.again();
    }, (error: ApiError) => alarm(plain(error.message)));
  if (loaded.error?.status === 501) return null;
  const rules = loaded.data?.rules ?? [];
  return (
    <Part title="Always allowed" note={`What you answered with “Always allow” for ${plain(agent.name)}. Each holds from the next turn on until it is removed.`}>
      {loaded.error && <Failed error={loaded.error} again={loaded.again} what="The rules can't be read." />}
      {!loaded.data && !loaded.error && <Bones label="Loading rules" rows={2} />}
      {loaded.data && rules.length === 0 && <p class="why">Nothing is always allowed.</p>}
      {rules.length > 0 && (
        <ul class="rows">
          {rules.map((rule) => (
            <li key={rule.id}>
              <span />
              <code class="wrap-any">{oneLine(rule.rule)}</code>
              <button type="button" class="btn quiet tiny-b" aria-label={`Remove ${oneLine(rule.rule)}`} onClick={() => remove(rule.id)}>Remove</button>
              <span class="d">Since {dayOf(rule.addedAt)}{rule.addedBy ? `, by ${oneLine(rule.addedBy)}` : ""} · {rule.lastUsedAt ? `last used ${when(rule.lastUsedAt)}` : "not used yet"}</span>
            </li>
          ))}
        </ul>
      )}
    </Part>
  );
}

type ConfigRow = { path: string; value: { kind: string; value?: unknown }; origin: string; env?: string; place?: { file?: string; line?: number } | null };
type Config = { settings: ConfigRow[]; findings: unknown[] };

/** A setting's value as it may be shown. */
export function shownValue(value: ConfigRow["value"]): string {
  if (value.kind === "unset") return "unset";
  if (value.kind === "secret") return (value.value as { set?: boolean } | undefined)?.set ? "set" : "unset";
  return typeof value.value === "string" ? value.value : JSON.stringify(value.value ?? null);
}

function AgentPart({ agent }: { agent: Agent }): VNode {
  const loaded = useLoad(agent.id, () => get<Config>(`${path("agents", agent.id)}/config`), false);
  const [query, setQuery] = useState("");
  const [all, setAll] = useState(false);
  const [asking, setAsking] = useState(false);
  const rows = (Array.isArray(loaded.data) ? (loaded.data as ConfigRow[]) : loaded.data?.settings) ?? [];
  const low = query.trim().toLowerCase();
  const shown = rows.filter((row) => (low ? row.path.toLowerCase().includes(low) : all || row.origin.toLowerCase() !== "default"));
  const restart = (yes: boolean) => {
    setAsking(false);
    if (yes) void change("POST", `${path("agents", agent.id)}/restart`).then(() => say(`${plain(agent.name)} restarts`), (error: ApiError) => alarm(plain(error.message)));
  };
  return (
    <Part title={plain(agent.name)} note="Read only: the agent’s config and environment set these. Changes are read at its next start.">
      <div class="acts">
        {rows.length > 0 && <Search value={query} set={setQuery} label="Find a setting" />}
        <span class="sp" />
        {agent.can.restart && <button type="button" class="btn" onClick={() => setAsking(true)}>Restart {plain(agent.name)}</button>}
      </div>
      {loaded.error && <Failed error={loaded.error} again={loaded.again} what="The settings can't be read." />}
      {!loaded.data && !loaded.error && <Bones label="Loading settings" />}
      {shown.length > 0 && (
        <ul class="rows config">
          {shown.map((row) => (
            <li key={row.path}>
              <span />
              <code class="wrap-any">{row.path}</code>
              <span class="w">{row.origin.toLowerCase()}</span>
              <span class="d"><bdi class="wrap-any">{oneLine(shownValue(row.value)).slice(0, 400)}</bdi>{row.env && <> · <code>{row.env}</code></>}{row.place?.line ? ` · line ${row.place.line}` : ""}</span>
            </li>
          ))}
        </ul>
      )}
      {loaded.data && !low && !all && <p><button type="button" class="link" onClick={() => setAll(true)}>Show all {rows.length} settings</button></p>}
      {loaded.data && low && shown.length === 0 && <p class="why">No setting has this in its name.</p>}
      {asking && (
        <Confirm
          title={`Restart ${plain(agent.name)}?`} action={`Restart ${plain(agent.name)}`} done={restart}
          text={<p>{agent.activeRuns > 0 ? `Stops ${count(agent.activeRuns, "running turn")}. They are marked interrupted and are not run again.` : "No turn runs now, so nothing is interrupted."}</p>}
        />
      )}
    </Part>
  );
}
