/** What the command says of its own words: help, mistakes, kubeconfigs that lead nowhere. No cluster is asked. */
import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { ALL_COMMANDS } from "../../infra/cli/commands.ts";
import { kubeconfigText } from "../../infra/sandbox/kubeconfig.ts";
import { lifeboat } from "./lifeboat.ts";
import { machineOf } from "./machine.ts";
import { run } from "../../infra/cli/run.ts";

const NOWHERE = { url: "https://127.0.0.1:2", caPem: "", user: "jane", token: "t" };
const person = { kubeconfig: NOWHERE };

describe("help", () => {
  test.each(["", "help", "--help", "-h"])("lifeboat %s lists every command", async (line) => {
    const { host, out } = machineOf({});
    expect(await run(line.split(" ").filter(Boolean), host)).toBe(0);
    for (const { words } of ALL_COMMANDS) expect(out.join("")).toContain(words.join(" "));
  });

  test.each(ALL_COMMANDS)("lifeboat $words --help names each of its flags", async ({ words, flags, usage }) => {
    const { code, out } = await lifeboat(`${words.join(" ")} --help`, person);
    expect({ code, text: `${out.join("\n")}\n` }).toEqual({ code: 0, text: `Usage: lifeboat ${usage}` });
    for (const flag of Object.keys(flags)) expect(usage).toContain(`--${flag}`);
  });
});

// prettier-ignore
test.each([
  ["sail",                                    'unknown command "sail'],
  ["explain", 'expected one of these after "explain"'],
  ["explain node",                            "NODE: expected a name"],
  ["explain node a b",                        'unexpected argument "b"'],
  ["explain node a --forse",                  "Unknown option '--forse'"],
  ["explain node a -o xml",                   '--output: expected json, yaml or wide, got "xml"'],
  ["explain pod",                             "POD: expected a name"],
  ["evacuations -w -o json",                  '--watch: expected no --output but wide, got "json"'],
  ["evacuations web",                         'unexpected argument "web"'],
  ["evacuations --request-timeout 5 minutes", 'unexpected argument "minutes"'],
  ["evacuations --request-timeout soon",      '--request-timeout: expected a time such as 30s, 5m or 1h, got "soon"'],
  ["evacuations --request-timeout 0s",        "--request-timeout: expected a time"],
  ["evacuate",                                "VM: expected the name of a virtual machine"],
  ["evacuate vm/",                            "VM: expected the name of a virtual machine"],
  ["evacuate web mail",                       'VM: expected one name, got "web mail"'],
  ["retry",                                   "VM: expected the name of a virtual machine"],
  ["cancel pod/web",                          'VM: expected one name, got "pod/web"'],
  ["completion",                              "SHELL: expected bash or zsh"],
  ["install --worker https://a.example",      '--cluster NAME is needed: the context\'s name "jane@sandbox" has more in it than letters, digits'],
  ["completion fish",                         'SHELL: expected bash or zsh, got "fish"'],
])("lifeboat %s: exit code 2, nothing on stdout, %s", async (line, message) => {
  const { code, out, err } = await lifeboat(line, person);
  expect({ code, out, message: err[0] }).toEqual({ code: 2, out: [], message: expect.stringContaining(message) });
});

test("a flag that there is not: named, without advice on words that begin with -", async () => {
  const { err } = await lifeboat("explain node a --forse", person);
  expect(err[0]).toBe("error: Unknown option '--forse'");
});

const NO_CONTEXT = "apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\nusers: []\n";
// prettier-ignore
test.each([
  ["another context",     "--context prod evacuations", kubeconfigText(NOWHERE), '--context: the kubeconfig has no context "prod"; it has jane@sandbox'],
  ["no current context",  "evacuations",                NO_CONTEXT,              "the kubeconfig has no current context: choose one with --context"],
  ["no YAML",             "evacuations",                "{",                     "cannot be read"],
  ["nothing there",       "evacuations",                kubeconfigText(NOWHERE), "the cluster cannot be reached: connect ECONNREFUSED 127.0.0.1:2"],
])("a kubeconfig with %s: exit code 1, and what to do", async (_, line, kubeconfig, message) => {
  const { code, out, err } = await lifeboat(line, { kubeconfig });
  expect({ code, out, said: err.join("\n") }).toEqual({ code: 1, out: [], said: expect.stringContaining(message) });
});

const bash = spawnSync("bash", ["--version"]).status === 0;

// prettier-ignore
test.runIf(bash).each([
  ["",                 "explain evacuations evacuate cancel retry"],
  ["expl",             "explain"],
  ["explain ",         "node pod"],
  ["explain node --f", "--force"],
  ["evacuations --al", "--all-namespaces"],
  ["explain node n --d", "--delete-emptydir-data"],
  ["drain node-1 --wait", "--wait-for-blocked"],
])("completion: lifeboat %s<tab>", async (typed, expected) => {
  const { out } = await lifeboat("completion bash", person);
  const words = ["lifeboat", ...typed.split(" ")];
  const script = `${out.join("\n")}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _lifeboat; echo "\${COMPREPLY[*]}"`;
  const { stdout } = spawnSync("bash", ["-c", script], { encoding: "utf8" });
  for (const word of expected.split(" ")) expect(stdout.trim().split(" ")).toContain(word);
});
