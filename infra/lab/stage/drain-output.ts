/** What `kubectl drain` says, understood. The demo's own client (drain.ts) speaks the same lines. */
export type DrainLine =
  | { readonly says: "Evicting"; readonly pod: string }
  | { readonly says: "Refused"; readonly pod: string; readonly message: string }
  | { readonly says: "Evicted"; readonly pod: string }
  | { readonly says: "Warning"; readonly message: string }
  | { readonly says: "Other"; readonly message: string };

/** The API server's words before the webhook's own. */
const DENIED = /^admission webhook "[^"]+" denied the request: /;

type Groups = Readonly<Record<string, string>>;

const FORMS: readonly (readonly [RegExp, (groups: Groups) => DrainLine])[] = [
  [/^evicting pod (?<pod>\S+)$/, ({ pod = "" }) => ({ says: "Evicting", pod })],
  [/^pod\/(?<pod>\S+) evicted$/, ({ pod = "" }) => ({ says: "Evicted", pod })],
  [/^Warning: (?<message>.*)$/, ({ message = "" }) => ({ says: "Warning", message })],
  [
    /^error when evicting pods\/"(?<name>[^"]+)" -n "(?<namespace>[^"]+)" \(will retry after 5s\): (?<message>.*)$/,
    ({ namespace = "", name = "", message = "" }) => ({
      says: "Refused",
      pod: `${namespace}/${name}`,
      message: message.replace(DENIED, ""),
    }),
  ],
];

export function parseDrainLine(line: string): DrainLine {
  for (const [form, understand] of FORMS) {
    const groups = form.exec(line)?.groups;
    if (groups !== undefined) return understand(groups);
  }
  return { says: "Other", message: line };
}

/** The line that kubectl 1.32 prints when an eviction is refused and will be tried again. */
export function refusedLine(pod: { readonly namespace: string; readonly name: string }, message: string): string {
  return `error when evicting pods/"${pod.name}" -n "${pod.namespace}" (will retry after 5s): ${message}`;
}
