/** The configuration as it is in force, what is wrong with it, and how the API server asks Lifeboat. Shows no secret. */
import { html } from "hono/html";
import { CONFIGURATION, GUARD_WEBHOOKS, OWN_WEBHOOKS } from "../../../shared/policy/names.ts";
import type { Compared } from "../../../shared/policy/webhooks/story.ts";
import { type ConfigurationView, readConfigurationView } from "../configuration-reads.ts";
import { clusterProblems } from "../parts/cluster-problems.ts";
import { commandLine } from "../parts/command.ts";
import { conditionRows } from "../parts/condition-rows.ts";
import { crumbs } from "../parts/crumbs.ts";
import { counted } from "../parts/fleet-words.ts";
import { badge, type Mood } from "../parts/phase.ts";
import { problemList } from "../parts/problem-list.ts";
import { sentence } from "../parts/sentence.ts";
import { gateValues, kubevirtSettings, ownSettings, type SettingValue } from "../parts/setting-values.ts";
import { told } from "../parts/text.ts";
import { clusterPath } from "../paths.ts";
import type { Html, LivePage, Seen, Visit } from "../visit.ts";

export function configurationPage({ target }: Visit): LivePage<ConfigurationView> {
  return {
    key: "configuration",
    title: `Configuration of ${target.name}`,
    maxAgeMs: 10_000,
    read: () => readConfigurationView(target),
    view: configurationView,
  };
}

function configurationView(view: ConfigurationView, { cluster, now }: Seen): Html {
  const { configuration, kubevirt, loaded, credential, webhooks } = view;
  const { settings, problems, notes } = loaded;
  const own = ownSettings(settings, configuration?.spec);
  const isWrong = clusterProblems(configuration?.conditions ?? [], credential);
  return html`${crumbs([cluster, clusterPath(cluster)], ["Configuration"])}
    <h1>Configuration</h1>
    <p class="lead">${verdict(view, own)}</p>
    ${problemList(isWrong)}
    ${remarks(
      "Not in force as written",
      problems.map(({ field, message }) => `${field}: ${message}`),
    )}
    ${remarks("Worth knowing", notes)}
    <section>
      <h2>Settings</h2>
      ${settingRows("LifeboatConfiguration: what each key means, kubectl explain says", own)}
      ${commandLine("kubectl explain lifeboatconfiguration.spec --recursive")}
      ${commandLine(`kubectl edit lifeboatconfiguration ${CONFIGURATION}`)}
    </section>
    <section>
      <h2>Feature gates</h2>
      ${gateRows(view)} ${commandLine("kubectl explain lifeboatconfiguration.spec.featureGates")}
    </section>
    <section>
      <h2>KubeVirt's settings that count</h2>
      ${settingRows("KubeVirt CR, below spec", kubevirtSettings(settings, kubevirt))}
      ${commandLine("kubectl get kubevirt -A -o yaml")}
    </section>
    <section>
      <h2>Webhooks</h2>
      <p>How the API server asks Lifeboat, compared with what is shipped.</p>
      <ul class="cards">
        ${webhooks.map(webhookCard)}
      </ul>
      ${commandLine(`kubectl get validatingwebhookconfigurations ${OWN_WEBHOOKS} ${GUARD_WEBHOOKS} -o yaml`)}
    </section>
    <section>
      <h2>Lifeboat's token of this cluster</h2>
      <p>${badge(credential.reason, tokenMood(view))} ${told(sentence(credential.message))}</p>
      ${commandLine("lifeboat doctor")}
    </section>
    <section>
      <h2>Conditions</h2>
      <p class="muted">As of the last full scan.</p>
      ${conditionsPart(view, now)} ${commandLine(`kubectl get lifeboatconfiguration ${CONFIGURATION} -o yaml`)}
    </section>`;
}

function verdict({ configuration }: ConfigurationView, own: readonly SettingValue[]): string {
  if (configuration === undefined) return "This cluster has no LifeboatConfiguration: the defaults are in force.";
  const set = own.filter(({ source }) => source === "set").length;
  return set === 0 ? "The defaults are in force." : `${counted(set, "key")} set; all others have their defaults.`;
}

function remarks(title: string, lines: readonly string[]): Html | "" {
  if (lines.length === 0) return "";
  return html`<div class="notice warn">
    <p><strong>${title}</strong></p>
    <ul>
      ${lines.map((line) => html`<li>${told(line)}</li>`)}
    </ul>
  </div>`;
}

function settingRows(caption: string, values: readonly SettingValue[]): Html {
  return html`<table class="rows">
    <caption>
      ${caption}
    </caption>
    <thead>
      <tr>
        <th scope="col">Key</th>
        <th scope="col">In force</th>
        <th scope="col">From</th>
      </tr>
    </thead>
    <tbody>
      ${values.map(
        ({ key, value, source, fallback, written }) =>
          html`<tr>
            <th scope="row"><code>${key}</code></th>
            <td data-label="In force">${told(value)}</td>
            <td data-label="From">
              ${source === "set" ? badge("set", "busy") : badge("default", "quiet")}
              ${fallback === undefined ? "" : html`<span class="muted">default ${told(fallback)}</span>`}
              ${written === undefined ? "" : html`${badge("not in force", "bad")} written: ${told(written)}`}
            </td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

function gateRows({ loaded, configuration, kubevirt }: ConfigurationView): Html {
  return html`<table class="rows">
    <caption>
      One is on if either object switches it on
    </caption>
    <thead>
      <tr>
        <th scope="col">Feature gate</th>
        <th scope="col">State</th>
        <th scope="col">Switched on by</th>
      </tr>
    </thead>
    <tbody>
      ${gateValues(loaded.settings, configuration?.spec, kubevirt).map(
        ({ gate, isOn, by }) =>
          html`<tr>
            <th scope="row"><code>${gate}</code></th>
            <td data-label="State">${isOn ? badge("on", "good") : badge("off", "quiet")}</td>
            <td data-label="Switched on by">${by.join(", ")}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

/** Never its URL: that holds the token. */
function webhookCard({ installed, comparison }: Compared): Html {
  const { door, object, problems, remarks: said } = comparison;
  const webhooks = typeof installed === "object" ? installed.webhooks : [];
  return html`<li class="card">
    <h3><code>${object}</code> ${badge(...webhookState({ installed, comparison }))}</h3>
    <p>
      ${door === "evictions" ? "Asks before an eviction." : "Asks before a deletion that no budget stops: the guard."}
    </p>
    ${problems.map((line) => html`<p><strong>${told(line)}</strong></p>`)}
    ${said.map((line) => html`<p>${told(line)}</p>`)}
    ${webhooks.map(
      ({ failurePolicy, timeoutSeconds }) =>
        html`<p class="muted">failurePolicy ${told(failurePolicy)}, timeout ${timeoutSeconds}s</p>`,
    )}
  </li>`;
}

function webhookState({ comparison: { found, problems, remarks: said } }: Compared): readonly [string, Mood] {
  if (problems.length > 0) return [found === "Absent" ? "missing" : "not called", "bad"];
  if (found === "Unread") return ["cannot be read", "warn"];
  if (found === "Absent") return ["not installed, not needed", "quiet"];
  return said.length > 0 ? ["other than shipped", "warn"] : ["as shipped", "good"];
}

function tokenMood({ credential: { ok, reason } }: ConfigurationView): Mood {
  if (!ok) return "bad";
  return reason === "Valid" ? "good" : "warn";
}

const STATUS_MOODS = { True: "good", False: "bad", Unknown: "warn" } as const;

function conditionsPart({ configuration }: ConfigurationView, now: Date): Html {
  const conditions = configuration?.conditions ?? [];
  if (conditions.length > 0) return conditionRows(conditions, now, STATUS_MOODS);
  const why = "Lifeboat writes them into the status of a LifeboatConfiguration, with a full scan every ten minutes.";
  return html`<div class="empty"><p>There are none yet. ${why}</p></div>`;
}
