/** One visit of a page: who asks, about which cluster, and what every page has to give. */
import type { Context } from "hono";
import type { html } from "hono/html";
import type { Env } from "../env.ts";
import type { Target } from "../target.ts";

/** Escaped: what comes from a cluster or a visitor is put into it by the `html` template only. */
export type Html = ReturnType<typeof html>;

export type PageContext = Context<{ Bindings: Env }>;

/** A person who has signed in to a cluster. */
export interface Visitor {
  /** As Kubernetes or Cloudflare Access names them. Becomes `requestedBy`. */
  readonly name: string;
  /** Whether they may evacuate, cancel and retry; else they only look. */
  readonly mayAct: boolean;
}

export interface Visit {
  readonly target: Target;
  readonly visitor: Visitor;
}

/** Of a page that may be about one cluster, or about all that the visitor may look at. */
export interface Viewing {
  readonly target: Pick<Target, "name" | "platform">;
  readonly visitor: Visitor;
}

/** What every view is told beside its facts. */
export interface Seen {
  /** As the cluster is called in `CLUSTERS`; in the fleet page the empty string. */
  readonly cluster: string;
  readonly visitor: Visitor;
  readonly now: Date;
  /** When what is shown was read. */
  readonly readAt: Date;
}

/** A page over facts that change: rendered whole, and once more each time that they are read anew. */
export interface LivePage<F> {
  /** The same for all who look at the same: they share what was read. */
  readonly key: string;
  readonly title: string;
  /** How old facts may be that are shown again. Milliseconds. */
  readonly maxAgeMs: number;
  /** May throw a ClusterError (shown as an unreachable cluster) or a RejectionError (shown as an error page). */
  read(): Promise<F>;
  /** The content of `main`. Pure. */
  view(facts: F, seen: Seen): Html;
}
