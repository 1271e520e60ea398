/** The environment of the questions: a server, a webhook, and the answers so far. */
import { setTimeout } from "node:timers/promises";
import type { Request, Response, Target } from "../client.ts";
import { valueAt } from "../value-at.ts";
import { Hook } from "../webhook.ts";

/** The steps before a question, and how its request differs from the recorded one. */
export interface Scene {
  readonly before?: readonly Step[];
  readonly asks?: (request: Request, world: World) => Request;
  /** The answer needs a disruption controller. */
  readonly controllers?: true;
}

/** A request that must succeed, or a function. */
export type Step = Request | ((world: World) => Promise<unknown>);

/** By question. */
export type Scenes = Readonly<Record<string, Scene>>;

export class World {
  readonly target: Target;
  readonly hook = new Hook();
  /** By question, or by the name that a step gave. */
  readonly answers = new Map<string, Response>();
  /** The webhook configurations in force. */
  configured = "";
  /** The token of the service account that asks. */
  token = "";

  constructor(target: Target) {
    this.target = target;
  }

  async take(step: Step): Promise<void> {
    if (typeof step === "function") return void (await step(this));
    const response = await this.target.send(step);
    if (response.code >= 300) throw new Error(`set-up: ${step.method} ${step.path}: ${response.code} ${response.text}`);
  }

  answer(name: string, path: string): string {
    return String(valueAt(this.answers.get(name)?.body, path));
  }
}

/** How often it is looked for. The sandbox has had as many turns by then, however busy the machine is. */
const LOOKS = { sandbox: 100, other: 2_000 };

/** A step that keeps an answer for later. */
export function keep(name: string, request: Request): Step {
  return async (world) => void world.answers.set(name, await world.target.send(request));
}

/** A step that waits for an answer. If it waits in vain, the question after it shows what is wrong. */
export function until(request: Request, done: (response: Response) => boolean): Step {
  return async ({ target }) => {
    const looks = target.name === "sandbox" ? LOOKS.sandbox : LOOKS.other;
    for (let look = 0; look < looks; look++, await setTimeout(10)) if (done(await target.send(request))) return;
  };
}

/** A step whose object may be missing. */
export function attempt(request: Request): Step {
  return ({ target }) => target.send(request);
}

/** A step that brings an object into the given state, whatever it was before. */
export function anew(plural: string, body: Record<string, unknown>): Step {
  return async (world) => {
    const path = `${plural}/${String(valueAt(body, "metadata.name"))}`;
    const emptied = { metadata: { finalizers: null } };
    await world.target.send({ method: "DELETE", path: `${path}?gracePeriodSeconds=0` });
    await world.target.send({ method: "PATCH", path, body: emptied, type: "application/merge-patch+json" });
    await world.take({ method: "POST", path: plural, body });
  };
}
