/** What Prometheus reads from a replica: the relay's numbers and the reviews of this process, and on the Lease's holder the cluster's. */
const END = /# EOF\n?$/;

export function joinMetrics(expositions: readonly (string | undefined)[]): string {
  const parts = expositions.filter((text) => text !== undefined);
  return `${parts.map((text) => text.replace(END, "")).join("")}# EOF\n`;
}
