/** `fetch` with the credentials of a kubeconfig file or of the pod's service account. */
import { HttpMethod, IsomorphicFetchHttpLibrary, type KubeConfig, RequestContext } from "@kubernetes/client-node";
import type { Fetch } from "../../shared/kube/transport.ts";

const METHODS = new Map<string, HttpMethod>(Object.values(HttpMethod).map((method) => [method, method]));

function setHeaders(request: RequestContext, headers: RequestInit["headers"]): void {
  for (const [name, value] of new Headers(headers)) if (name !== "authorization") request.setHeaderParam(name, value);
}

/**
 * Returns a `fetch` with a kubeconfig's credentials. All requests share a connection pool, because client-node would
 * create a pool for every request. A failed request discards the pool, because the credentials or the cluster's CA may
 * have changed.
 */
export function kubeFetch(config: KubeConfig): Fetch {
  const library = new IsomorphicFetchHttpLibrary();
  let pool: ReturnType<RequestContext["getDispatcher"]>;
  return async (url, { method = "GET", headers, body, signal }) => {
    const request = new RequestContext(url, METHODS.get(method) ?? HttpMethod.GET);
    setHeaders(request, headers);
    if (typeof body === "string") request.setBody(body);
    if (signal) request.setSignal(signal);
    await config.applySecurityAuthentication(request);
    pool ??= request.getDispatcher();
    if (pool !== undefined) request.setDispatcher(pool);
    const answer = await library
      .send(request)
      .toPromise()
      .catch((error: unknown) => {
        if (signal?.aborted !== true) pool = undefined;
        throw error;
      });
    if (answer.httpStatusCode === 401) pool = undefined;
    const { warning = "" } = answer.headers;
    return new Response(answer.body.stream(), { status: answer.httpStatusCode, headers: { warning } });
  };
}
