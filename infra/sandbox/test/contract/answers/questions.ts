/** Recorded questions to kube-apiserver 1.36.2 and its answers, in their order. */
import { readFileSync } from "node:fs";

export interface Question {
  readonly theme: string;
  readonly question: string;
  readonly request: Asked;
  /** Chosen fields, in short forms that compare.ts explains. */
  readonly answer: Readonly<Record<string, unknown>>;
}

export interface Asked {
  readonly method: string;
  readonly path: string;
  /** Missing where the body was not JSON; then the set-up has it. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** "service account sa": with a token of one; otherwise the administrator's. */
  readonly as?: string;
}

export const QUESTIONS: readonly Question[] = JSON.parse(
  readFileSync(new URL("kube-1.36.json", import.meta.url), "utf8"),
);

export const THEMES: readonly string[] = [...new Set(QUESTIONS.map(({ theme }) => theme))];
