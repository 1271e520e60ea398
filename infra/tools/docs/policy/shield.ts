/**
 * The shield for administrators, rendered as Markdown: its section of POLICY.md.
 * Owns: the text. Does not own: the figures in it (shared/policy).
 */
import { DEFAULT_SETTINGS } from "../../../../shared/policy/settings.ts";
import { MIN_GRACE_SECONDS } from "../../../../shared/policy/shield/shield.ts";

const { shield } = DEFAULT_SETTINGS;

export function section(): string {
  return `### The shield (experimental)

With \`optional/shield\`, KubeVirt 1.9 and its feature gate \`Plugins\`, and \`shield.maxPodGracePeriodSeconds\`. virt-handler does not shut
a covered guest down on SIGTERM, so that it can still move.

- **Covered** (label \`lifeboat.dev/shield\`), as soon as the node is under pressure, is every VM that would be moved, whose
  \`terminationGracePeriodSeconds\` is ${MIN_GRACE_SECONDS} or more, and whose shutdown may be refused for 60 s or more.
- **Covered as well**, before the pod is deleted, is such a VM with an unfinished migration when the deadline of a preemption or a taint has passed:
  where the guard lets the deletion go (\`DeadlinePassed\`), and where Lifeboat finishes the taint manager's. The deletion does not wait for
  the label, and none is set at the end of a node: the machine goes.
- **So long a shutdown is refused**: the smaller one of its grace period + 15 s (then its launcher destroys it) and of what the kubelet
  gives it, less \`shield.shutdownSeconds\` (${shield.shutdownSeconds}) to shut down in and 75 s for a tick that comes late. Then an unfinished migration is deleted
  and the VM let go (\`over\`): its launcher has not forgotten the signal, and it shuts down.
- When its shutdown was first refused, virt-handler's Events tell (\`SyncFailed\`). Where they cannot be read, it counts as refused since the
  label was set.
- **Let go** when the node has no pressure any more and no evacuation of the VM goes on, when the VM has moved, cannot migrate or is being
  deleted, and when the shield is switched off.
`;
}
