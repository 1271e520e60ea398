/** The data that every step of a request can use. */
import type { IncomingHttpHeaders } from "node:http";
import type { AggregatedApi } from "./aggregation.ts";
import type { FaultPlan } from "./faults.ts";
import type { ResourceKind } from "./kinds/kind.ts";
import type { KindRegistry } from "./kinds/registry.ts";
import type { KubeObject } from "./objects.ts";
import type { RequestInfo, ResourceRequest } from "./request-info.ts";
import type { PodNetwork } from "../processes/pod-network.ts";
import type { SecretTokenIssuer } from "./secret-tokens.ts";
import type { TokenIssuer } from "./service-account-tokens.ts";
import { fail } from "./status.ts";
import type { Collection, Store, StoredObject } from "./store.ts";
import type { Bell } from "./watch-log.ts";

export interface User {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface ServerState {
  readonly store: Store;
  readonly kinds: KindRegistry;
  readonly staticTokens: ReadonlyMap<string, User>;
  readonly tokenIssuer: TokenIssuer;
  readonly secretTokens: SecretTokenIssuer;
  readonly faults: FaultPlan;
  /** Counts the failed calls of each webhook with failurePolicy Ignore. */
  readonly failedOpen: Map<string, number>;
  readonly network: PodNetwork;
  readonly aggregated: Map<string, AggregatedApi>;
  readonly now: () => Date;
  /** Calls `fn` once after `ms` milliseconds. The returned function cancels the timer. */
  readonly setTimer: (ms: number, fn: () => void) => () => void;
}

export interface RequestContext {
  readonly state: ServerState;
  readonly info: RequestInfo;
  readonly user: User;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly warnings: string[];
  readonly signal: AbortSignal;
}

export interface ResourceContext extends RequestContext {
  readonly info: ResourceRequest;
  readonly kind: ResourceKind;
  readonly collection: Collection;
}

export type Answer =
  | { readonly type: "Object"; readonly code: number; readonly object: KubeObject | StoredObject }
  | { readonly type: "List"; readonly items: readonly StoredObject[]; readonly metadata: ListMeta }
  | { readonly type: "Watch"; readonly start: (sink: WatchSink) => Promise<void> }
  | { readonly type: "Document"; readonly code: number; readonly body: unknown; readonly contentType?: string }
  | { readonly type: "Text"; readonly code: number; readonly text: string };

export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** Sends the events of a watch in the representation that the client accepts. */
export interface WatchSink {
  /** True if no event can be sent until the client has read earlier events. */
  readonly isFull: boolean;
  /** Wakes the watch after the client has read events or has disconnected. */
  readonly bell: Bell;
  send(type: string, stored: StoredObject): void;
  /** Sends a BOOKMARK event, or an ERROR event with a Status. */
  sendRaw(type: "BOOKMARK" | "ERROR", object: unknown): void;
  end(): void;
}

export function isStored(object: KubeObject | StoredObject): object is StoredObject {
  return "json" in object && typeof object.json === "string";
}

export function resourceOf(kind: ResourceKind): { group: string; resource: string } {
  return { group: kind.group, resource: kind.plural };
}

export function storedIn({ collection, info, kind }: ResourceContext): StoredObject {
  return collection.get(info) ?? fail({ reason: "NotFound", resource: resourceOf(kind), name: info.name });
}

export function collectionOf(state: ServerState, kind: ResourceKind): Collection {
  return state.store.collection(kind.storage, kind.selectableFields);
}

export function timestamp(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, "Z");
}
