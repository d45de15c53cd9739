// Generated from the sources of corefile-migration by tools/removals.mjs. Do not edit.

/** Plugin of CoreDNS: the options that kubeadm can migrate, from a version of CoreDNS on. */
export const COREFILE_PLUGINS: Readonly<
  Record<
    string,
    readonly { readonly since: string; readonly options: readonly string[]; readonly patterns: readonly string[] }[]
  >
> = {
  autopath: [{ since: '1.8.0', options: [], patterns: [] }],
  cache: [
    { since: '1.8.0', options: ['denial', 'prefetch', 'success'], patterns: [] },
    { since: '1.9.4', options: ['denial', 'disable', 'prefetch', 'serve_stale', 'servfail', 'success'], patterns: [] },
    {
      since: '1.10.1',
      options: ['denial', 'disable', 'keepttl', 'prefetch', 'serve_stale', 'servfail', 'success'],
      patterns: [],
    },
  ],
  errors: [
    { since: '1.8.0', options: ['consolidate'], patterns: [] },
    { since: '1.9.3', options: ['consolidate', 'stacktrace'], patterns: [] },
  ],
  forward: [
    {
      since: '1.8.0',
      options: [
        'except',
        'expire',
        'force_tcp',
        'health_check',
        'max_concurrent',
        'max_fails',
        'policy',
        'prefer_udp',
        'tls',
        'tls_servername',
      ],
      patterns: [],
    },
    {
      since: '1.11.4',
      options: [
        'except',
        'expire',
        'fail_fast',
        'force_tcp',
        'health_check',
        'max_concurrent',
        'max_fails',
        'next',
        'policy',
        'prefer_udp',
        'tls',
        'tls_servername',
      ],
      patterns: [],
    },
    {
      since: '1.12.0',
      options: [
        'except',
        'expire',
        'failfast_all_unhealthy_upstreams',
        'force_tcp',
        'health_check',
        'max_concurrent',
        'max_fails',
        'next',
        'policy',
        'prefer_udp',
        'tls',
        'tls_servername',
      ],
      patterns: [],
    },
  ],
  health: [{ since: '1.8.0', options: ['lameduck'], patterns: [] }],
  hosts: [
    {
      since: '1.8.0',
      options: ['fallthrough', 'no_reverse', 'reload', 'ttl'],
      patterns: ['[0-9A-Fa-f]{1,4}:[:0-9A-Fa-f]+:[0-9A-Fa-f]{1,4}', '\\d{1,3}\\.\\d{1,3}\\.\\d{1,3}\\.\\d{1,3}'],
    },
  ],
  k8s_external: [
    { since: '1.8.0', options: ['apex', 'ttl'], patterns: [] },
    { since: '1.11.0', options: ['apex', 'fallthrough', 'ttl'], patterns: [] },
  ],
  kubernetes: [
    {
      since: '1.8.0',
      options: [
        'endpoint',
        'endpoint_pod_names',
        'fallthrough',
        'ignore',
        'kubeconfig',
        'labels',
        'namespaces',
        'noendpoints',
        'pods',
        'tls',
        'transfer',
        'ttl',
      ],
      patterns: [],
    },
    {
      since: '1.8.3',
      options: [
        'endpoint',
        'endpoint_pod_names',
        'fallthrough',
        'ignore',
        'kubeconfig',
        'labels',
        'namespaces',
        'noendpoints',
        'pods',
        'tls',
        'ttl',
      ],
      patterns: [],
    },
  ],
  loadbalance: [{ since: '1.8.0', options: [], patterns: [] }],
  log: [{ since: '1.8.0', options: ['class'], patterns: [] }],
  loop: [{ since: '1.8.0', options: [], patterns: [] }],
  prometheus: [{ since: '1.8.0', options: [], patterns: [] }],
  ready: [{ since: '1.8.0', options: [], patterns: [] }],
  reload: [{ since: '1.8.0', options: [], patterns: [] }],
  rewrite: [
    { since: '1.8.0', options: ['answer name', 'class', 'edns0', 'name', 'ttl', 'type'], patterns: [] },
    {
      since: '1.11.0',
      options: ['answer name', 'class', 'cname_target', 'edns0', 'name', 'ttl', 'type'],
      patterns: [],
    },
  ],
  transfer: [{ since: '1.8.0', options: ['to'], patterns: [] }],
};
