/** Resolves a container's environment variables and the fields of the downward API. */
import type { Pod } from "../actors/resources.ts";

export function fieldOf({ metadata, spec, status }: Pod, path: string): string {
  const fields: Readonly<Record<string, string | undefined>> = {
    "metadata.name": metadata.name,
    "metadata.namespace": metadata.namespace,
    "metadata.uid": metadata.uid,
    "spec.nodeName": spec?.nodeName,
    "spec.serviceAccountName": spec?.serviceAccountName,
    "status.podIP": status?.podIP,
  };
  return fields[path] ?? "";
}

export function environmentOf(pod: Pod, apiServer: URL): Record<string, string> {
  const own = (pod.spec?.containers[0]?.env ?? []).map(
    ({ name, value = "", valueFrom }) =>
      [name, valueFrom?.fieldRef ? fieldOf(pod, valueFrom.fieldRef.fieldPath) : value] as const,
  );
  return {
    KUBERNETES_SERVICE_HOST: apiServer.hostname,
    KUBERNETES_SERVICE_PORT: apiServer.port,
    ...Object.fromEntries(own),
  };
}
