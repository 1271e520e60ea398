/** The few answers of a Kubernetes API server that reviewing one eviction needs, each of which a test may replace; and the app before it. */
import * as z from "zod/mini";
import type { Platform } from "../../functions/env.ts";
import { type App, entry, openApp } from "./app.ts";
import { type Behaviour, json, startStub, status, type Stub, type StubRequest } from "./answers.ts";

export const POD = { namespace: "apps", name: "virt-launcher-web-abcde" };

/** What is asked: one name for each kind of request. */
export type Question =
  | "pod"
  | "vmi"
  | "node"
  | "kubevirt"
  | "configuration"
  | "budget"
  | "create"
  | "begin"
  | "mark"
  | "evacuations"
  | "list"
  | "event"
  | "webhooks"
  | "access"
  | "user"
  | "other";

export type CannedAnswers = Partial<Record<Question, Behaviour>>;

const metadata = (name: string) => ({ namespace: "apps", name, uid: `uid-of-${name}`, resourceVersion: "7" });

export const CANNED_POD = {
  kind: "Pod",
  metadata: {
    ...metadata(POD.name),
    labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": "uid-of-web" },
    annotations: { "kubevirt.io/domain": "web" },
  },
  spec: { nodeName: "node01" },
  status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
};

export const CANNED_VMI = {
  kind: "VirtualMachineInstance",
  metadata: { ...metadata("web"), labels: { app: "web" }, annotations: { note: "x" } },
  spec: { evictionStrategy: "LiveMigrate" },
  status: {
    phase: "Running",
    nodeName: "node01",
    activePods: { [CANNED_POD.metadata.uid]: "node01" },
    conditions: [{ type: "LiveMigratable", status: "True" }],
  },
};

/** KubeVirt has kept the mark. */
export const CANNED_MARKED = { ...CANNED_VMI, status: { ...CANNED_VMI.status, evacuationNodeName: "node01" } };

export const list = (...items: readonly unknown[]): Behaviour =>
  json({ kind: "List", metadata: { resourceVersion: "7" }, items });

/** A LifeboatConfiguration with this spec. */
export const configured = (spec: unknown): Behaviour =>
  json({ kind: "LifeboatConfiguration", metadata: { ...metadata("lifeboat"), generation: 1 }, spec });

export const notFound = status(404, "NotFound");

/** An Evacuation, as it was sent. */
const CANNED_BEGIN: Behaviour = ({ body }) => {
  const sent = z.looseObject({ metadata: z.looseObject({}) }).parse(body);
  const added = { uid: "uid-of-evacuation", resourceVersion: "7", creationTimestamp: "2026-11-20T12:00:00Z" };
  return Response.json({ ...sent, metadata: { ...sent.metadata, ...added } }, { status: 201 });
};

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Of jane, for the page of any of these clusters, unless its audience, its end or its signature says otherwise. */
export function tokenOf({ aud = "lifeboat", signature = "of-the-cluster", ...claims }: TokenClaims = {}): string {
  return `${part({ alg: "RS256" })}.${part({ sub: "jane", aud, ...claims })}.${signature}`;
}
interface TokenClaims {
  readonly aud?: string | readonly string[];
  readonly exp?: number;
  readonly signature?: string;
}

const TokenReview = z.object({ spec: z.object({ token: z.string(), audiences: z.array(z.string()) }) });

function userOf({ body }: StubRequest): object {
  const { token, audiences } = TokenReview.parse(body).spec;
  if (!token.endsWith(".of-the-cluster")) return { user: {}, error: "invalid bearer token" };
  return { authenticated: true, audiences, user: { username: "jane" } };
}

const GOOD: Record<Question, Behaviour> = {
  pod: json(CANNED_POD),
  vmi: json(CANNED_VMI),
  node: notFound,
  kubevirt: list({ metadata: { ...metadata("kubevirt"), namespace: "kubevirt" }, spec: { configuration: {} } }),
  configuration: notFound,
  budget: json({}),
  create: json({}, 201),
  begin: CANNED_BEGIN,
  mark: json(CANNED_MARKED),
  evacuations: list(),
  list: list(),
  event: json({}, 201),
  // Nothing is known of them.
  webhooks: status(403, "Forbidden"),
  access: json({ status: { allowed: true } }, 201),
  user: (request) => Response.json({ status: userOf(request) }, { status: 201 }),
  other: notFound,
};

export function startCannedCluster(answers: CannedAnswers | Behaviour = {}): Stub {
  const instead = typeof answers === "function" ? undefined : answers;
  return startStub((request) => {
    if (typeof answers === "function") return answers;
    const question = questionOf(request);
    return instead?.[question] ?? GOOD[question];
  });
}

const QUESTIONS: readonly (readonly [RegExp, Question])[] = [
  [/^GET .*\/pods\/[^/]+$/, "pod"],
  [/^GET .*\/virtualmachineinstances\/[^/]+$/, "vmi"],
  [/^GET .*\/nodes\/[^/]+$/, "node"],
  [/^GET .*\/kubevirts$/, "kubevirt"],
  [/^GET .*\/lifeboatconfigurations\/lifeboat$/, "configuration"],
  [/^GET .*\/poddisruptionbudgets\/[^/]+$/, "budget"],
  [/^POST .*\/poddisruptionbudgets$/, "create"],
  [/^POST .*\/evacuations$/, "begin"],
  [/^PATCH .*\/virtualmachineinstances\/[^/]+$/, "mark"],
  [/^GET .*\/evacuations$/, "evacuations"],
  [
    /^GET .*\/(pods|nodes|virtualmachineinstances|virtualmachineinstancemigrations|poddisruptionbudgets|nodeevacuations)$/,
    "list",
  ],
  [/^POST .*\/events$/, "event"],
  [/^GET .*\/(?:validating|mutating)webhookconfigurations\/[^/]+$/, "webhooks"],
  [/^POST .*\/(?:self)?subjectaccessreviews$/, "access"],
  [/^POST .*\/tokenreviews$/, "user"],
];

export function questionOf({ method, path }: Pick<StubRequest, "method" | "path">): Question {
  return QUESTIONS.find(([pattern]) => pattern.test(`${method} ${path}`))?.[1] ?? "other";
}

export function openCanned(answers?: CannedAnswers | Behaviour, instead?: Partial<Platform>): [Stub, App] {
  const server = startCannedCluster(answers);
  return [server, openApp({ CLUSTERS: { prod: entry(server.url) } }, undefined, instead)];
}
