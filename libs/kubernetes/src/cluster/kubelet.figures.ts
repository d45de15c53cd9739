interface Figures {
  readonly availableBytes?: number;
}
interface Summary {
  readonly node?: { readonly fs?: Figures; readonly runtime?: { readonly imageFs?: Figures } };
}

/** Of a kubelet's /stats/summary: what is free where it is scarcest; undefined: it does not report its disks. */
export const freeDiskIn = (summary: string): number | undefined => {
  const { node } = JSON.parse(summary) as Summary;
  const free = [node?.fs?.availableBytes, node?.runtime?.imageFs?.availableBytes].filter(
    (bytes) => bytes !== undefined,
  );
  return free.length === 0 ? undefined : Math.min(...free);
};
