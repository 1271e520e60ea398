/**
 * What a kube-apiserver 1.36.2 was asked and answered, in the order of the asking.
 * Owns: reading it. Does not own: what an answer's keys mean (compare.ts), the state that a question needs (set-up).
 */
import { readFileSync } from "node:fs";

export interface Question {
  readonly theme: string;
  readonly question: string;
  readonly request: Asked;
  /** Chosen fields, in short: compare.ts says what each stands for. */
  readonly answer: Readonly<Record<string, unknown>>;
}

export interface Asked {
  readonly method: string;
  readonly path: string;
  /** Absent where what was sent is no JSON: the set-up has it. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** "service account sa": with a token of one; admin otherwise. */
  readonly as?: string;
}

export const QUESTIONS: readonly Question[] = JSON.parse(
  readFileSync(new URL("kube-1.36.json", import.meta.url), "utf8"),
);

export const THEMES: readonly string[] = [...new Set(QUESTIONS.map(({ theme }) => theme))];
