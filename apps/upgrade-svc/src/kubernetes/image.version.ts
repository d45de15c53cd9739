/** `registry.k8s.io/etcd:3.6.5-0` runs 3.6.5; a digest or a missing tag has no version. */
export const versionOfImage = (image: string): string =>
  /:v?(\d[\w.-]*?)(?:-\d+)?(?:@|$)/.exec(image)?.[1] ?? 'unknown';
