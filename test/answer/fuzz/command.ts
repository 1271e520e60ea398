/**
 * The command `lifeboat`: odd words, an odd kubeconfig, an API server that it must not trust.
 *
 * A call ends with a documented exit code and never with a stack trace; it prints no token, and nothing from the cluster that a terminal
 * would obey; with `--dry-run`, and if all it does is read, it changes nothing; and after Ctrl-C it ends.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import * as fc from "fast-check";
import { EXIT } from "../../../infra/cli/command.ts";
import { run } from "../../../infra/cli/run.ts";
import { machineOf } from "../../support/cli/machine.ts";
import { VMS } from "../../support/generators/clusters.ts";
import { asJson, mutated, mutatedText, oddString } from "../../support/generators/json.ts";
import { launcherOf, NAMESPACE } from "../../support/generators/objects.ts";
import { often, usually } from "../../support/generators/often.ts";
import { NODE, NOW } from "../../support/fixtures.ts";
import { isStackTrace, SECRETS } from "./canaries.ts";
import { HostileCluster, hostility } from "./cluster/hostile-cluster.ts";
import { quickly, startHostileServer } from "./cluster/hostile-server.ts";
import { controlIn, hostileTexts, withHostileTexts } from "./hostile-terminal.ts";
import { property } from "./property.ts";
import { unprinted } from "./visit.ts";

const FORMS = ["json", "yaml", "wide", "name"].flatMap((form) => [["-o", form], [`--output=${form}`]]);
const FLAGS: readonly (readonly string[])[] = [
  ...FORMS,
  ["--wait"],
  ["--dry-run"],
  ["--yes"],
  ["--force"],
  ["--delete-emptydir-data"],
  ["--timeout", "5m"],
  ["--wait-for-blocked"],
  ["--request-timeout", "2s"],
  ["--context", "person"],
  ["--context", "nobody"],
  ["--with", "guard,budgets"],
  ["--help"],
];
/** Of every command; those of a Worker's installation go to an address of their own, and are left out. */
const CALLS: readonly (readonly string[])[] = [
  ...[NODE, "node02", "none"].flatMap((node) => [
    ["explain", "node", node],
    ["drain", node],
    ["drain", node, "--yes"],
  ]),
  ...VMS.flatMap((vm) => [
    ["explain", "pod", launcherOf(vm)],
    ["evacuate", vm],
    ["evacuate", `vm/${vm}`, "--wait"],
    ["retry", vm],
    ["cancel", vm],
  ]),
  ["drain", NODE, "--dry-run"],
  ["doctor"],
  ["doctor", "-o", "yaml"],
  ["install", "--in-cluster", "--image", "example.com/lifeboat:1"],
  ["install", "--in-cluster", "--image", "example.com/lifeboat:1", "--export"],
  ["install"],
  ["uninstall", "--yes"],
  ["uninstall", "--dry-run"],
  ["help"],
  ["explain"],
  [],
];

/** No argument has a zero byte; what a person types is repeated as it is. */
// eslint-disable-next-line no-control-regex
const word = oddString.map((text) => text.replaceAll(/[\u0000-\u001F\u007F-\u009F]/g, "?"));

const words = fc
  .record({
    call: fc.constantFrom(...CALLS),
    flags: usually(fc.constant<(typeof FLAGS)[number][]>([]), fc.array(fc.constantFrom(...FLAGS), { maxLength: 2 }), 3),
    odd: usually(fc.constant(undefined), fc.tuple(fc.nat(), fc.constantFrom("replace", "add", "remove"), word), 6),
    namespace: often<readonly string[]>(["-n", NAMESPACE], []),
  })
  .map(({ call, flags, odd, namespace }) => {
    const all = [...call, ...flags.flat(), ...(call.length > 0 ? namespace : [])];
    if (odd === undefined) return all;
    const [at, how, text] = odd;
    return all.toSpliced(at % (all.length + 1), how === "add" ? 0 : 1, ...(how === "remove" ? [] : [text]));
  });

const kubeconfig = (server: string) =>
  asJson({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "person",
    clusters: [{ name: "here", cluster: { server, "insecure-skip-tls-verify": true } }],
    users: [{ name: "me", user: { token: SECRETS.token } }],
    contexts: [{ name: "person", context: { cluster: "here", user: "me", namespace: NAMESPACE } }],
  });
/** Stands for the address of the server, which is known when the call is made. */
const SERVER = "http://server.invalid";
const valid = JSON.stringify(kubeconfig(SERVER));
const kubeconfigs = usually(
  fc.constant(valid),
  fc.oneof(
    mutated(fc.constant(kubeconfig(SERVER)), [1, 2]).map((one) => JSON.stringify(one)),
    mutatedText(fc.constant(valid)),
  ),
  6,
);

const call = fc
  .record({
    words,
    kubeconfig: kubeconfigs,
    hostility,
    hostileTexts,
    terminal: fc.boolean(),
    answer: fc.constantFrom("y", "n", "", "yes", NODE),
    /** Ctrl-C comes after so many waits. */
    patience: fc.constantFrom(0, 1, 5, 130),
  })
  .map((drawn) => ({ ...drawn, ...unprinted }));
type Call = typeof call extends fc.Arbitrary<infer T> ? T : never;

const WRITERS = new Set(["drain", "evacuate", "retry", "cancel", "install", "uninstall"]);
const EXIT_CODES: ReadonlySet<number> = new Set(Object.values(EXIT));
const LONGEST_MS = 20_000;
/** After Ctrl-C a command may end what it is at. */
const MOST_WAITS_MORE = 3;

interface Ended {
  readonly code: number | undefined;
  readonly said: string;
  readonly problems: readonly string[];
}

async function make(drawn: Call, file: string): Promise<Ended> {
  const { terminal, answer, patience } = drawn;
  let waited = 0;
  const meanwhile = (waits: number, interrupt: () => void) => {
    waited = waits + 1;
    if (waits >= patience) interrupt();
    if (waits > patience + MOST_WAITS_MORE) throw new Error("goes on after Ctrl-C");
  };
  const { host, out, err } = machineOf({ terminal, answer, meanwhile, begun: NOW });
  const problems: string[] = [];
  let code: number | undefined;
  try {
    const late = pause(LONGEST_MS, "late" as const, { ref: false });
    const ended = await Promise.race([run([...drawn.words, "--kubeconfig", file], host), late]);
    if (ended === "late") problems.push(`does not end, after ${waited} waits`);
    else code = ended;
  } catch (error) {
    problems.push(`unhandled: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  }
  return { code, said: `${out.join("")}${err.join("")}`, problems };
}

function problemsOf({ code, said, problems }: Ended, cluster: HostileCluster, { words: given, terminal }: Call) {
  const control = controlIn(said, terminal);
  const secret = Object.values(SECRETS).find((one) => said.includes(one));
  const command = given.find((one) => !one.startsWith("-")) ?? "";
  const reads = !WRITERS.has(command) || given.includes("--dry-run") || given.includes("--export");
  const written = cluster.asked.find(({ write }) => write)?.request;
  const checks = [
    [code === undefined || !EXIT_CODES.has(code), `ended with ${code}`],
    [control !== undefined, `a terminal would obey ${control}`],
    [secret !== undefined, `prints a secret: ${secret}`],
    [isStackTrace(said), "prints a stack trace"],
    [reads && written !== undefined, `changed the cluster by ${written}`],
  ] as const;
  return [...problems, ...checks.flatMap(([isWrong, problem]) => (isWrong ? [problem] : []))];
}

function outcomeOf({ words: [command = "nothing"] }: Call, { code }: Ended): string {
  return `${/^[a-z]+$/.test(command) ? command : "odd"} ${code}`;
}

/** What calls came to, by command and exit code. */
export async function callCommand(calls: number): Promise<ReadonlyMap<string, number>> {
  let fetch: HostileCluster["fetch"] | undefined;
  const server = await startHostileServer(() => {
    if (fetch === undefined) throw new Error("no cluster yet");
    return { fetch };
  });
  const folder = await mkdtemp(join(tmpdir(), "lifeboat-fuzz-"));
  const file = join(folder, "config");
  const all = property("every call of the command keeps the contract", call, async (drawn) => {
    const cluster = new HostileCluster(drawn.hostility, quickly);
    fetch = withHostileTexts(cluster.fetch, drawn.hostileTexts);
    await writeFile(file, drawn.kubeconfig.replaceAll(SERVER, server.url));
    const ended = await make(drawn, file);
    const problems = problemsOf(ended, cluster, drawn);
    if (problems.length === 0) return outcomeOf(drawn, ended);
    const asked = cluster.asked.map(({ request }) => request).join("\n");
    throw new Error(
      `${problems.join("\n")}\nlifeboat ${drawn.words.join(" ")}\n${ended.said.slice(0, 3000)}\n${asked}`,
    );
  });
  try {
    return await all.check(calls);
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
