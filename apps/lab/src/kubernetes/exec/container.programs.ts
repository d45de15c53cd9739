import { etcdctl, etcdutl, type ToolCall, type ToolResult } from '../etcd/etcd.tools.js';

/** The container runtime's error if the image does not contain the program. */
export interface NoSuchProgram {
  readonly missing: string;
}

/** The programs of kubeadm's etcd image: etcdctl, etcdutl, a shell and its own `cp`, but no `cat` or `rm`. */
export const runInEtcd = (call: ToolCall, [program = '', ...args]: readonly string[]): ToolResult | NoSuchProgram => {
  switch (program) {
    case 'etcdctl':
      return etcdctl(call, args);
    case 'etcdutl':
      return etcdutl(call, args);
    case 'cp':
      return copy(call, args);
    case 'sh':
      return truncate(call, args);
    default:
      return { missing: program };
  }
};

const copy = ({ files }: ToolCall, [from = '', to = '']: readonly string[]): ToolResult => {
  const bytes = files.get(from);
  if (bytes === undefined) {
    const stderr = `unable to open source file [${from}]: "open ${from}: no such file or directory"\n`;
    return { stdout: '', stderr, exitCode: 1 };
  }
  if (to === '/dev/stdout') return { stdout: bytes, stderr: '', exitCode: 0 };
  files.set(to, bytes);
  return { stdout: '', stderr: '', exitCode: 0 };
};

/**
 * Supports the two scripts that are run in this image's shell: `: > FILE`, and the same for all files with a prefix.
 */
const truncate = ({ files }: ToolCall, args: readonly string[]): ToolResult => {
  const prefix = /^for f in (\S+)\*; do \[ ! -s "\$f" \] \|\| : > "\$f"; done$/.exec(args[1] ?? '')?.[1];
  if (prefix !== undefined) {
    for (const path of files.keys()) if (path.startsWith(prefix)) files.set(path, Buffer.alloc(0));
    return { stdout: '', stderr: '', exitCode: 0 };
  }
  const path = /^: > '?([^']+)'?$/.exec(args[1] ?? '')?.[1];
  if (path === undefined) return { stdout: '', stderr: 'this script is not simulated by Fairlead lab\n', exitCode: 1 };
  files.set(path, Buffer.alloc(0));
  return { stdout: '', stderr: '', exitCode: 0 };
};
