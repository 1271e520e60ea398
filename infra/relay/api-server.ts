/** The API server that the relay watches. */
import type { KubeConfig } from "@kubernetes/client-node";
import { type Endpoint, type Send, sender } from "../../shared/kube/transport.ts";
import { kubeFetch } from "./kube-fetch.ts";
import { RELAY_MESSAGES as MESSAGES } from "./messages.ts";

export interface ApiServer {
  readonly endpoint: Endpoint;
  /** Reads one page of a list. Only one page is read at a time, to limit the used memory. */
  readPage(signal: AbortSignal): Send;
}

const PAGE_TIMEOUT_MS = 60_000;

/** Returns the API server of a kubeconfig. Throws if the kubeconfig contains no cluster. */
export function apiServerOf(kubeConfig: KubeConfig): ApiServer {
  const server = kubeConfig.getCurrentCluster()?.server.replace(/\/+$/, "");
  if (server === undefined) throw new Error(MESSAGES.noCurrentCluster);
  const endpoint: Endpoint = { server, token: "", headers: {}, fetch: kubeFetch(kubeConfig) };
  let turn: Promise<unknown> = Promise.resolve();
  return {
    endpoint,
    readPage: (signal) => (request) => {
      const read = () => sender(endpoint, AbortSignal.any([signal, AbortSignal.timeout(PAGE_TIMEOUT_MS)]))(request);
      const answer = turn.then(read);
      turn = answer.catch(() => undefined);
      return answer;
    },
  };
}
