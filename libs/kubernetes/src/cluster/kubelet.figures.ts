import * as z from 'zod';

const Figures = z.object({ availableBytes: z.number().min(0).optional() }).optional();
const Summary = z.object({
  node: z.object({ fs: Figures, runtime: z.object({ imageFs: Figures }).optional() }).optional(),
});

/** The least free space in a kubelet's /stats/summary; undefined: it does not report its disks. */
export const freeDiskIn = (summary: unknown): number | undefined => {
  const node = Summary.safeParse(summary).data?.node;
  const free = [node?.fs?.availableBytes, node?.runtime?.imageFs?.availableBytes].filter(
    (bytes) => bytes !== undefined,
  );
  return free.length === 0 ? undefined : Math.min(...free);
};
