/** Sends the requests of a scenario, and reads the relevant parts of the answers. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Hook, Replies } from "./hook.ts";
import type { Names } from "./names.ts";
import type { Request, Response } from "../send.ts";
import type { Server } from "./server.ts";
import { valueAt } from "./value-at.ts";

export interface Step {
  readonly step: string;
  /** The request. A name such as `<uid 1>` stands for a value from an earlier answer. */
  readonly request: Request;
  /** The webhook's answers, keyed by path. The webhook allows all other requests. */
  readonly hook?: Replies;
  /** Repeats the request until the server gives the recorded answer. */
  readonly eventually?: true;
  /** Paths of values that the sandbox returns differently or not at all. These values are not compared. */
  readonly otherwise?: readonly string[];
  /**
   * The recorded values, keyed by path. A path is `code`, `header.NAME`, `reviews` (the webhook's reviews), or a path
   * in the body. The first recording of a step contains `code`, `reason`, `message` and `details` if the answer is an
   * error. Otherwise, it contains only `code`.
   */
  readonly answer?: Answer;
}

export type Answer = Readonly<Record<string, unknown>>;

export interface World {
  readonly server: Server;
  readonly hook: Hook;
  readonly names: Names;
}

const ERROR = ["code", "reason", "message", "details"];
const PATIENCE = { sandbox: { tries: 60, pauseMs: 10 }, real: { tries: 200, pauseMs: 50 } };

export function load(file: URL): readonly Step[] {
  const steps: readonly Step[] = JSON.parse(readFileSync(file, "utf8"));
  return steps;
}

export function render(steps: readonly Step[]): string {
  return `[\n${steps.map((step) => JSON.stringify(step)).join(",\n")}\n]\n`;
}

export async function play(world: World, steps: readonly Step[]): Promise<readonly Step[]> {
  const played: Step[] = [];
  for (const step of steps) {
    played.push({ ...step, answer: await ask(world, step) });
  }
  return played;
}

async function ask(world: World, step: Step): Promise<Answer> {
  const { hook, names, server } = world;
  const request = names.filled(step.request);
  hook.replies = names.filled(step.hook ?? {});
  const { tries, pauseMs } = server.isReal ? PATIENCE.real : PATIENCE.sandbox;
  for (let tried = 1; ; tried++, await delay(pauseMs)) {
    hook.calls.length = 0;
    const response = await server.send(request);
    const seen = { ...show(world, step, response), ...(server.isReal ? {} : excused(step)) };
    if (step.eventually === undefined || tried === tries || isDeepStrictEqual(seen, step.answer)) return seen;
  }
}

function excused({ otherwise = [], answer }: Step): Answer {
  return Object.fromEntries(otherwise.map((path) => [path, answer?.[path]]));
}

function show({ hook, names }: World, { request, answer }: Step, response: Response): Answer {
  const asked = Object(valueAt(request.body, "metadata"));
  if (asked.generateName !== undefined && asked.name === undefined)
    names.nameOf("name", String(valueAt(response.body, "metadata.name")));
  const managed = valueAt(response.body, "metadata.managedFields");
  if (Array.isArray(managed)) managed.sort((one, other) => keyOf(one).localeCompare(keyOf(other)));
  const reviews = hook.calls.toSorted((one, other) => one.url.localeCompare(other.url));
  const { code, headers, body } = response;
  const all = { ...body, code, header: headers, reviews };
  const paths = answer ? Object.keys(answer) : code < 400 ? ["code"] : ERROR;
  return Object.fromEntries(paths.map((path) => [path, names.shown(valueAt(all, path) ?? null, fieldOf(path, body))]));
}

function fieldOf(path: string, body: Response["body"]): string {
  return path === "metadata.resourceVersion" && "items" in body ? "listVersion" : path.split(".").at(-1)!;
}

/** Returns the key by which managedFields entries are sorted, because the server's order varies between runs. */
function keyOf(managed: unknown): string {
  return JSON.stringify(["operation", "manager", "subresource"].map((field) => valueAt(managed, field)));
}
