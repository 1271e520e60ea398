/**
 * Tests the command's help, and its messages about wrong arguments and unusable kubeconfigs. No test needs a cluster.
 */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { kubeconfigText } from "../../../infra/sandbox/index.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";
import { machineOf } from "../../support/cli/machine.ts";
import { run } from "../../../infra/cli/run.ts";

const NOWHERE = { url: "https://127.0.0.1:2", caPem: "", user: "jane", token: "t" };
const person = { kubeconfig: NOWHERE };

const COMMANDS = "explain plan drain status report evacuate cancel retry doctor install uninstall";

test.each(["", "help", "--help", "-h"])("lifeboat %s lists every command and the exit codes", async (line) => {
  const { host, out } = machineOf({});
  expect(await run(line.split(" ").filter(Boolean), host)).toBe(0);
  for (const command of COMMANDS.split(" ")) expect(out.join("")).toMatch(new RegExp(`^  ${command} `, "m"));
  expect(out.join("")).toContain("3 the answer is no");
});

test.each([...COMMANDS.split(" "), "pause", "resume", "completion"])(
  "the help of lifeboat %s lists the option --help, and no command help",
  async (command) => {
    const { host, out } = machineOf({});
    expect(await run([command, "--help"], host)).toBe(0);
    expect(out.join("")).toMatch(/^  -h, --help /m);
    expect(out.join("")).not.toMatch(/^  help /m);
  },
);

// prettier-ignore
test.each([
  ["sail",                                    "unknown command 'sail'"],
  ["explain nod node-1",                      "unknown command 'nod' (Did you mean one of node, pod?)"],
  ["explain node",                            "missing required argument 'node'"],
  ["explain node a --forse",                  "unknown option '--forse' (Did you mean --force?)"],
  ["cancel web --request-timeout soon",       "option '--request-timeout <time>' argument 'soon' is invalid. Expected a time such as 30s, 5m or 1h."],
  ["plan --parallel 0",                       "option '--parallel <number>' argument '0' is invalid. Expected a number from 1 to 100."],
  ["plan --until 1s --at 2h",                 "--until: expected a time after"],
  ["evacuate",                                "missing required argument 'vm'"],
  ["evacuate vm/",                            "argument value 'vm/' is invalid for argument 'vm'. Expected the name of a VM"],
  ["drain Node-1",                            "argument value 'Node-1' is invalid for argument 'nodes'. Expected the name of a node"],
  ["explain node node/node/1",                "argument value 'node/node/1' is invalid for argument 'node'. Expected the name of a node"],
  ["explain pod Web -n Shop",                 "argument 'Shop' is invalid. Expected the name of a namespace"],
  ["install --in-cluster --worker https://a", "option '--in-cluster' cannot be used with option '--worker <url>'"],
  ["install --worker https://a.example",      '--cluster NAME is needed: the context\'s name "jane@sandbox" has characters other than letters, digits'],
  ["install --worker https://a --ca-bundle /nowhere", "option '--ca-bundle <file>' argument '/nowhere' is invalid. Expected a file with certificates in PEM."],
  ["install --worker https://a --image b",    "option '--image <image>' cannot be used with option '--worker <url>'"],
  ["install --in-cluster --entry a.json",     "--entry: expected --worker URL, too"],
  ["install --with guards",                   "option '--with <parts>' argument 'guards' is invalid. Expected one or more of guard, shield, pressure"],
])("lifeboat %s exits with 2, and the only output is the error %s", async (line, message) => {
  const { code, out, err } = await lifeboat(line, person);
  const said = err.join(" ").replaceAll("\n", " ");
  expect({ code, out, said }).toEqual({ code: 2, out: [], said: expect.stringContaining(message) });
});

// prettier-ignore
test.each([
  ["explain node node-1", ""],
  ["explain pod web",     ""],
  ["plan",                ""],
  ["drain node-1",        ""],
  ["status",              ""],
  ["doctor",              ""],
  ["report node-1",       ", markdown"],
])("lifeboat %s with an unknown output form lists the forms of every command%s", async (line, further) => {
  const { code, out, err } = await lifeboat(`${line} -o xml`, person);
  const said = `error: option '-o, --output <form>' argument 'xml' is invalid. Allowed choices are table, wide, json, yaml${further}.`;
  expect({ code, out, err: err[0] }).toEqual({ code: 2, out: [], err: said });
});

// prettier-ignore
test.each([
  ["another context",     "--context prod cancel web",  kubeconfigText(NOWHERE), '--context: the kubeconfig has no context "prod". Its contexts: jane@sandbox'],
  ["no YAML",             "cancel web",                 "{",                     "cannot be read"],
  ["nothing there",       "cancel web",                 kubeconfigText(NOWHERE), "the cluster cannot be reached: connect ECONNREFUSED 127.0.0.1:2"],
])("given a kubeconfig with %s, the command exits with 1 and names the problem", async (_, line, kubeconfig, message) => {
  const { code, out, err } = await lifeboat(line, { kubeconfig });
  expect({ code, out, said: err.join("\n") }).toEqual({ code: 1, out: [], said: expect.stringContaining(message) });
});

test("without a kubeconfig, the message says how to name one", async () => {
  const { host, err } = machineOf({});
  vi.stubEnv("KUBECONFIG", undefined);
  vi.stubEnv("HOME", "/nowhere");
  expect(await run(["cancel", "vm/web"], host)).toBe(1);
  expect(err.join("")).toBe("error: there is no kubeconfig: set KUBECONFIG or --kubeconfig FILE\n");
  vi.unstubAllEnvs();
});

const ODD = [
  "",
  " ",
  "..",
  "../..",
  "a/b/c",
  "Node-1",
  "node/Node-1",
  "\u{1F6A2}",
  "\ud800",
  "a\nb",
  "-",
  "x".repeat(300),
  "a%2Fb",
  "{}",
  "node/",
  "vm/",
];

/** Lists each command. A test replaces `ODD` with unusual words. */
const PLACES: readonly (readonly string[])[] = [
  ["explain", "node", "ODD"],
  ["explain", "pod", "ODD"],
  ["explain", "pod", "web", "--namespace", "ODD"],
  ["plan", "ODD"],
  ["plan", "--selector", "ODD"],
  ["plan", "--at", "ODD"],
  ["plan", "--until", "ODD"],
  ["plan", "--order", "ODD"],
  ["plan", "--parallel", "ODD"],
  ["plan", "--bandwidth", "ODD"],
  ["plan", "--when-blocked", "ODD"],
  ["plan", "--output", "ODD"],
  ["drain", "ODD"],
  ["drain", "--selector", "ODD"],
  ["drain", "node-1", "--at", "ODD"],
  ["drain", "node-1", "--until", "ODD"],
  ["drain", "node-1", "--order", "ODD"],
  ["drain", "node-1", "--when-blocked", "ODD"],
  ["drain", "node-1", "--start-if", "ODD"],
  ["drain", "node-1", "--timeout", "ODD"],
  ["drain", "node-1", "--output", "ODD"],
  ["pause", "ODD"],
  ["resume", "ODD"],
  ["cancel", "ODD"],
  ["cancel", "vm/ODD"],
  ["status", "ODD"],
  ["report", "ODD"],
  ["evacuate", "ODD"],
  ["retry", "ODD"],
  ["doctor", "ODD"],
  ["doctor", "--request-timeout", "ODD"],
  ["doctor", "--context", "ODD"],
  ["install", "ODD"],
  ["install", "--worker", "ODD", "--cluster", "prod"],
  ["install", "--in-cluster", "--with", "ODD"],
  ["uninstall", "ODD"],
];

test("every argument of every command is tested", () => {
  const commands = [...COMMANDS.split(" "), "pause", "resume"];
  expect(new Set(PLACES.map(([command]) => command))).toEqual(new Set(commands));
});

test.each(PLACES.map((place) => [place.join(" "), place] as const))(
  "given any word for ODD, lifeboat %s prints one line without a stack trace",
  async (_, place) => {
    for (const odd of ODD) {
      const { host, out, err } = machineOf({});
      const kubeconfig = join(await mkdtemp(join(tmpdir(), "lifeboat-")), "config");
      await writeFile(kubeconfig, kubeconfigText(NOWHERE));
      const code = await run([...place.map((word) => (word === "ODD" ? odd : word)), "--kubeconfig", kubeconfig], host);
      const said = err.join("");
      // If `odd` is a valid name, the command fails because it cannot reach the cluster.
      const context = JSON.stringify({ odd, code, said });
      expect([1, 2], context).toContain(code);
      expect(out, context).toEqual([]);
      expect(said, context).toMatch(/^(context "[^\n]+\n)?error: [^\n]+\n/);
      expect(said, context).not.toMatch(/\n +at |ZodError|a defect of/);
    }
  },
);

test("a defect of Lifeboat is reported in one line", async () => {
  const { host, err } = machineOf({});
  const broken = {
    ...host,
    now: () => {
      throw new TypeError("x is\nundefined");
    },
  };
  const kubeconfig = join(await mkdtemp(join(tmpdir(), "lifeboat-")), "config");
  await writeFile(kubeconfig, kubeconfigText(NOWHERE));
  expect(await run(["drain", "node-1", "--kubeconfig", kubeconfig], broken)).toBe(1);
  expect(err.join("")).toMatch(
    /^error: this is a defect of the command lifeboat, please report it: TypeError: x is undefined\n$/,
  );
});
