/** All messages of node pressure, in Evacuations and Events. */
export const PRESSURE_MESSAGES = {
  condition: (pressures: readonly string[]) => `node condition ${pressures.join(", ")}`,
  moves: (condition: string, nodeName: string | undefined) => `${condition}: moving the VM off node ${nodeName}`,
  movesAgain: (condition: string, nodeName: string | undefined) =>
    `${condition}: moving the VM off node ${nodeName}, although the VM has just moved: no other VM can leave the node`,
} as const;
