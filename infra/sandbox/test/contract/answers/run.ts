/** Puts all questions, one after another, to one server. */
import type { Request, Response, Target } from "../client.ts";
import { valueAt } from "../value-at.ts";
import { type Difference, differences } from "./compare.ts";
import { type Asked, QUESTIONS, type Question } from "./questions.ts";
import { SCENES, SET_UP, TEAR_DOWN } from "./set-up/scenes.ts";
import { World } from "./world.ts";

export interface Outcome {
  readonly question: Question;
  readonly request: Request;
  readonly response?: Response;
  /** Empty: the answer matches the recorded one. */
  readonly differences: readonly Difference[];
  /** An error before the question, or why this server cannot answer it. */
  readonly failure?: string;
  readonly skipped?: string;
}

export async function askAll(target: Target): Promise<readonly Outcome[]> {
  const world = new World(target);
  await world.hook.start();
  const outcomes: Outcome[] = [];
  const versions = new Map<string, unknown>();
  try {
    for (const step of SET_UP) await world.take(step);
    for (const question of QUESTIONS) outcomes.push(await ask(world, versions, question));
    for (const step of TEAR_DOWN) await world.take(step);
  } finally {
    world.hook.stop();
  }
  return outcomes;
}

async function ask(world: World, versions: Map<string, unknown>, question: Question): Promise<Outcome> {
  const scene = SCENES[question.question] ?? {};
  let request = plain(world, question.request);
  try {
    for (const step of scene.before ?? []) await world.take(step);
    request = plain(world, question.request);
    request = scene.asks?.(request, world) ?? request;
    if (scene.controllers && !world.target.controllers)
      return { question, request, differences: [], skipped: "no disruption controller" };
    const response = await world.target.send(request);
    world.answers.set(question.question, response);
    const path = request.path;
    const context = { response, path, before: versions.get(path) };
    versions.set(path, valueAt(response.body, "metadata.resourceVersion"));
    return { question, request, response, differences: differences(question.answer, context) };
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error);
    return { question, request, differences: [], failure };
  }
}

function plain(world: World, { method, path, body, contentType, headers, as }: Asked): Request {
  return {
    method,
    path,
    ...(body !== undefined && { body }),
    ...(contentType !== undefined && { type: contentType }),
    ...(headers && { headers }),
    ...(as !== undefined && { token: world.token }),
  };
}
