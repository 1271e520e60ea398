/**
 * node infra/sandbox/test/contract/answers/score.ts [theme …] [--show]: counts the recorded questions that the sandbox answers as
 * kube-apiserver 1.36.2 does, by theme; --show prints the others with their differences.
 */
import { parseArgs } from "node:util";
import { connect } from "../target.ts";
import { THEMES } from "./questions.ts";
import { type Outcome, askAll } from "./run.ts";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { show: { type: "boolean" } } });
const themes = positionals.length > 0 ? positionals : THEMES;
for (const theme of themes) if (!THEMES.includes(theme)) throw new Error(`no such theme: ${theme}`);

const target = await connect({ controllers: true });
const outcomes = (await askAll(target)).filter(({ question }) => themes.includes(question.theme));
await target.stop();

if (values.show) for (const outcome of outcomes) if (!isRight(outcome)) show(outcome);
for (const theme of themes) score(theme, (outcome) => outcome.question.theme === theme);
score("all", () => true);

function isRight({ differences, failure }: Outcome): boolean {
  return differences.length === 0 && failure === undefined;
}

function score(title: string, of: (outcome: Outcome) => boolean): void {
  const asked = outcomes.filter((outcome) => of(outcome) && outcome.skipped === undefined);
  const right = asked.filter(isRight).length;
  const percent = asked.length === 0 ? "" : `${((100 * right) / asked.length).toFixed(1)} %`;
  console.log(`${title.padEnd(28)} ${String(right).padStart(3)} / ${String(asked.length).padEnd(3)}  ${percent}`);
}

function show({ question, request, response, differences, failure }: Outcome): void {
  const { method, path, type, body } = request;
  const sent = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
  console.log(`[${question.theme}] ${question.question}`);
  console.log(`  ${[method, path, type, shortened(sent)].filter(Boolean).join(" ")}`);
  if (failure !== undefined) console.log(`  not asked: ${failure}`);
  for (const { key, expected, got } of differences) {
    console.log(`  ${key}: expected ${JSON.stringify(expected)}`);
    console.log(`  ${" ".repeat(key.length)}       got ${shortened(JSON.stringify(got) ?? "nothing")}`);
  }
  if (response && differences.some(({ key }) => key === "code")) console.log(`  answer: ${shortened(response.text)}`);
  console.log();
}

function shortened(text: string): string {
  return text.length > 600 ? `${text.slice(0, 600)} …` : text;
}
