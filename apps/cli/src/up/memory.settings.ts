/**
 * Variables with which a service needs less memory (docs/adr/0085-services-and-nats-run-with-memory-saving-settings.md). The Dockerfile and
 * docs/running.md name the same ones.
 */
export const SERVICE_MEMORY = {
  // One heap of malloc for each of V8's threads, of which Node.js starts four on any machine, and a young generation of a quarter of the size.
  NODE_OPTIONS: '--v8-pool-size=2 --max-semi-space-size=4',
  // Without them, glibc raises both to the size of the largest buffer that was freed: of megabytes, and keeps as much.
  MALLOC_MMAP_THRESHOLD_: '262144',
  MALLOC_TRIM_THRESHOLD_: '262144',
} as const;
