/** `lifeboat install`: installs everything that Lifeboat needs. The command can run several times. */
import { Option } from "@commander-js/extra-typings";
import { dump } from "js-yaml";
import { isBefore, versionText } from "../../../shared/settings/versions.ts";
import { type Add, agree, EXIT, timeout, YES } from "../command.ts";
import { VERSION } from "../../../functions/env.ts";
import { Failed } from "../failed.ts";
import { applyAll, type Applying, removeObject } from "./apply.ts";
import { untilAvailable } from "./available.ts";
import { entryOf, homeIn, PLACEHOLDER, requireForm, requireWorker } from "./flags.ts";
import type { GuardSite } from "./guard.ts";
import { guardOf, removeUnwanted } from "./guard-steps.ts";
import { type Manifest, nameOf, type Part, PARTS, partsNamed } from "./manifests.ts";
import { INSTALL_MESSAGES as MESSAGES } from "./messages.ts";
import { type Home, isDeployment, isWebhook, LEFT_BY_0_3, plan } from "./plan.ts";
import { type ClusterFacts, homeOf, presentHome, presentParts, readClusterFacts, RELEASE } from "./present.ts";
import { giveIdentity, type GivenIdentity, type Giving, settle } from "./identity.ts";
import { isAccepted } from "./token.ts";
import { encoded } from "./trusted.ts";
import { relayAdvice } from "./relay-advice.ts";
import { askForScan, untilReady, type Worker } from "./worker.ts";
import { newEntry, pemIn, readEntry, workerUrlOf } from "./worker-entry.ts";

interface Installing extends Applying {
  readonly facts: ClusterFacts;
  /** The values for the guard's policies. Undefined if the guard is not installed. */
  readonly guard: GuardSite | undefined;
  /** The optional features that are requested or already installed. */
  readonly parts: readonly Part[];
  home: Home;
  /** The time limit for Lifeboat's start, in seconds. */
  readonly seconds: number;
  readonly entry: ReturnType<typeof entryOf>;
  /** The CA of a certificate that a person provides, in PEM. */
  readonly ca: string | undefined;
  worker?: Worker;
  given?: GivenIdentity;
}

interface Step {
  readonly title: string;
  /** `Cluster` steps run only if Lifeboat runs in the cluster. `Worker` steps run only with --worker. */
  readonly form?: "Cluster" | "Worker";
  readonly do: (installing: Installing) => Promise<void> | void;
}

const STEPS: readonly Step[] = [
  { title: "Kubernetes and KubeVirt are new enough for the optional features", do: requireVersions },
  { title: "KubeVirt meets the requirements of the optional features", do: requireGate },
  {
    title: "custom resource definitions, permissions and optional features exist",
    do: (all) => applyAll(planned(all, isNoWebhook), all),
  },
  { title: "objects that only an older version needs are gone", do: removeOld },
  { title: "Lifeboat has its certificate and its tokens", form: "Cluster", do: give },
  {
    title: "every replica of Lifeboat is available",
    form: "Cluster",
    do: (all) => untilAvailable(planned(all, isDeployment), all),
  },
  { title: "the Worker's entry has a token for this cluster", form: "Worker", do: giveToken },
  { title: "the Worker can work in this cluster", form: "Worker", do: untilWorking },
  { title: "the webhooks exist", do: (all) => applyAll(planned(all, isWebhook), all) },
  { title: "the API server can call Lifeboat", form: "Cluster", do: settleTrust },
  { title: "no unneeded object of the guard is left", do: removeUnwanted },
  { title: "Lifeboat's server no longer runs in the cluster", form: "Worker", do: removeServer },
  // An earlier scan, without the webhooks, would create PodDisruptionBudgets that the webhooks make unnecessary.
  { title: "the Worker has checked every VM", form: "Worker", do: scan },
];

const partLines = PARTS.map(({ name, about }) => `  ${name.padEnd(20)} ${about}`).join("\n");

export const install: Add = (program, { host, connect, ends }) => {
  program
    .command("install")
    .description(
      `Applies everything that Lifeboat needs in the cluster, waits until Lifeboat is ready, and then creates the webhooks
through which the API server calls Lifeboat. Run the command again to continue an interrupted installation, or to
upgrade. With neither --in-cluster nor --worker, Lifeboat stays where it runs. Its address, tokens, features and
LifeboatConfiguration stay, too. For --worker, deploy the Worker first.`,
    )
    .addOption(new Option("--in-cluster", "Lifeboat runs in the cluster, as two replicas").conflicts("worker"))
    .addOption(
      new Option(
        "--image <image>",
        `the image of Lifeboat's pods (default: ${RELEASE ?? "the installed image"})`,
      ).conflicts("worker"),
    )
    .option("--worker <url>", "Lifeboat runs in the Worker at this https:// address", workerUrlOf)
    .option("--cluster <name>", "the cluster's name in the Worker (default: the context's name)")
    .option("--server <url>", "the API server's address for the Worker (default: the kubeconfig's address)")
    .option("--entry <file>", "the file with the Worker's entry; created if missing (default: lifeboat-NAME.json)")
    .option("--ca-bundle <file>", "the CA of a certificate that you provide for the Worker, or for the pods", pemIn)
    .addOption(
      new Option("--cert-manager", "cert-manager makes the certificate (only without --worker)").conflicts([
        "worker",
        "caBundle",
      ]),
    )
    .option("--with <parts>", "optional features, separated by commas; switches on their feature gates", partsNamed)
    .option("--export", "print the manifests without any secret, and apply nothing; you fill in the webhook token")
    .option(...YES)
    .option("--force-conflicts", "overwrite fields to which other managers have given other values")
    .addOption(timeout("how long to wait until Lifeboat is ready", "10m"))
    .addHelpText("after", `\nParts (optional features):\n${partLines}`)
    .action(
      ends(async (options) => {
        requireWorker(options);
        const connection = connect();
        const { send } = connection;
        const { worker, with: wanted = [], timeout: seconds, forceConflicts = false, caBundle: ca } = options;
        const entry = entryOf(options, connection);
        const facts = await readClusterFacts(connection);
        const home =
          worker === undefined ? homeOf(options, await presentHome(send)) : homeIn(worker, entry.cluster, ca);
        const parts = [...wanted, ...(await presentParts(send)).filter(({ name }) => !isNamed(wanted, name))];
        requireForm(options, home);
        const guard = await guardOf(connection, host, { facts, parts });
        host.stderr.write(await relayAdvice({ parts, home }, send()));
        const all: Installing = { send, host, forceConflicts, facts, guard, parts, home, seconds, entry, ca };
        if (options.export) {
          host.stdout.write(exported(all));
          host.stderr.write(MESSAGES.applyTwice);
          return EXIT.done;
        }
        await agree(questionOf(all), options, { connection, host });
        await doSteps(all, worker === undefined && home.in === "Worker" ? undefined : home.in);
        return EXIT.done;
      }),
    );
};

function questionOf({ home, parts }: Installing): string {
  const where = home.in === "Cluster" ? MESSAGES.asPods(home.image) : MESSAGES.withWorker(home.url);
  return MESSAGES.question(
    VERSION,
    where,
    parts.map(({ name }) => name),
  );
}

async function doSteps(installing: Installing, asked: Step["form"]): Promise<void> {
  const { host } = installing;
  for (const { title, do: step } of STEPS.filter(({ form = asked }) => form === asked)) {
    await step(installing);
    host.stderr.write(MESSAGES.stepDone(title));
  }
  host.stderr.write(MESSAGES.installed);
}

const isNoWebhook = (one: Manifest) => !isWebhook(one);

function planned({ parts, home, guard }: Installing, isWanted: (manifest: Manifest) => boolean): readonly Manifest[] {
  return plan({ parts, home, guard }).filter(isWanted);
}

function isOwnKind({ apiVersion }: Manifest): boolean {
  return apiVersion.startsWith("lifeboat.dev/");
}

/**
 * Returns YAML for GitOps, without secrets. The LifeboatConfiguration is last, because kubectl stops at a kind whose
 * CRD is not served yet.
 */
function exported({ parts, home, guard, ca }: Installing): string {
  const trust = home.in === "Cluster" && ca !== undefined && { caBundle: encoded(ca) };
  const manifests = plan({ parts, guard, home: { ...home, webhookToken: PLACEHOLDER, ...trust } });
  const ordered = [...manifests.filter((one) => !isOwnKind(one)), ...manifests.filter(isOwnKind)];
  return ordered.map((manifest) => dump(manifest, { noRefs: true, lineWidth: -1 })).join("---\n");
}

/** Checks versions before anything is applied, because a missing kind would stop the installation halfway. */
function requireVersions({ parts, facts: { minors } }: Installing): void {
  for (const { name, needs } of parts) {
    const minor = needs && minors[needs.of];
    if (needs === undefined || !isBefore(needs, minor)) continue;
    const textOf = (one: number) => versionText(needs.of, one);
    throw new Failed(MESSAGES.partNeeds(name, textOf(needs.since), textOf(minor)));
  }
}

/** Checks KubeVirt's gate before applying anything. KubeVirt refuses the Plugin of feature shield without the gate. */
function requireGate({ parts, facts: { enablingPlugins } }: Installing): void {
  const needing = parts.find(({ kubevirtGate }) => kubevirtGate !== undefined);
  if (enablingPlugins === undefined || needing === undefined) return;
  throw new Failed(MESSAGES.gateIsOff(needing.name, needing.kubevirtGate, enablingPlugins));
}

async function removeOld({ send, host }: Installing): Promise<void> {
  for (const manifest of LEFT_BY_0_3) {
    if (await removeObject(manifest, send())) host.stdout.write(MESSAGES.changed(nameOf(manifest), "deleted"));
  }
}

/** Removes the server, which the Worker replaces. A later install without flags would otherwise keep both. */
async function removeServer({ parts, home, send, host }: Installing): Promise<void> {
  const needed = new Set(plan({ parts, home }).map(nameOf));
  const inCluster = plan({ parts, home: { in: "Cluster", image: "" } }).filter((one) => !needed.has(nameOf(one)));
  for (const manifest of inCluster.toReversed()) {
    if (await removeObject(manifest, send())) host.stdout.write(MESSAGES.changed(nameOf(manifest), "deleted"));
  }
}

function isNamed(parts: readonly Part[], wanted: string): boolean {
  return parts.some(({ name }) => name === wanted);
}

function givingOf(installing: Installing): Giving {
  const apply = (home: Home) => applyAll(planned({ ...installing, home }, isWebhook), installing);
  return { ...installing, webhooks: planned(installing, isWebhook), apply };
}

async function give(installing: Installing): Promise<void> {
  if (installing.home.in !== "Cluster") return;
  installing.given = await giveIdentity(installing.home, givingOf(installing));
  installing.home = installing.given.home;
}

async function settleTrust(installing: Installing): Promise<void> {
  if (installing.given !== undefined) await settle(installing.given, givingOf(installing));
}

/** Reads the tokens from the Worker's entry. If there is no entry, creates tokens and writes the entry. */
async function giveToken(installing: Installing): Promise<void> {
  const { entry, send, host, home, ca } = installing;
  const { file, cluster, server, said } = entry;
  const found = await readEntry(file, cluster);
  if (said && found !== undefined && found.server !== server) {
    throw new Failed(MESSAGES.otherServer(file, found.server));
  }
  if (found !== undefined && (await isAccepted(send(), found.token)) === false) {
    throw new Failed(MESSAGES.tokenRefused(file));
  }
  if (home.in !== "Worker") return;
  const known = found ?? (await newEntry(file, { server, send, host }));
  installing.home = { ...home, webhookToken: known.webhookToken };
  installing.worker = { ...known, url: home.url, ...(ca !== undefined && { ca }) };
}

async function untilWorking({ worker, entry: { file, cluster }, host, seconds }: Installing): Promise<void> {
  if (worker === undefined) return;
  const onUnknown = () => void host.stderr.write(MESSAGES.giveEntry(file, cluster));
  await untilReady(worker, { host, seconds, onUnknown });
}

async function scan({ worker, host, seconds }: Installing): Promise<void> {
  if (worker !== undefined) await askForScan(worker, { host, seconds });
}
