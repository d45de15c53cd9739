import type { CommandResult, HostPort } from '../src/node/host.ports.js';

const ok = (stdout = ''): CommandResult => ({ code: 0, stdout, stderr: '' });
const failed = (code: number, stderr = ''): CommandResult => ({ code, stdout: '', stderr });

interface Package {
  version: string;
  held: boolean;
}

/** A Debian host in memory that records the commands that changed it. Its package repository has every version. */
export class MemoryHost implements HostPort {
  readonly files = new Map<string, string>([
    ['/etc/hostname', 'localhost\n'],
    ['/etc/hosts', '127.0.0.1\tlocalhost\n'],
    ['/etc/fstab', 'UUID=1 / ext4 defaults 0 1\n/swapfile none swap sw 0 0\n'],
    ['/etc/os-release', 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n'],
  ]);
  readonly packages = new Map<string, Package>();
  readonly modules = new Set<string>();
  readonly sysctls = new Map([['net.ipv4.ip_forward', '0']]);
  readonly enabled = new Set<string>();
  readonly active = new Set<string>();
  swapOn = true;
  /** What `ip -o address show` prints; empty: there is no `ip`. */
  addresses = '';
  boot = 'boot-1';
  bootTime = new Date('2026-01-01T00:00:00.000Z');
  /** Every command that changed something, as typed. */
  readonly changes: string[] = [];
  /** Overrides the host's results, e.g. with a failure. */
  fault: ((line: string) => CommandResult | undefined) | undefined;

  at(path: string): string {
    return path;
  }

  run(command: string, args: readonly string[]): Promise<CommandResult> {
    const line = [command, ...args].join(' ');
    const result = this.fault?.(line) ?? this.answer(command, args, line);
    return Promise.resolve(result);
  }

  readFile(path: string): Promise<string | undefined> {
    return Promise.resolve(this.files.get(path));
  }

  writeFile(path: string, text: string): Promise<void> {
    this.files.set(path, text);
    return Promise.resolve();
  }

  rename(from: string, to: string): Promise<void> {
    const text = this.files.get(from);
    if (text === undefined) return Promise.reject(new Error(`${from} is missing`));
    this.files.delete(from);
    this.files.set(to, text);
    if (!to.startsWith('/var/lib/fairlead/')) this.changes.push(`write ${to}`);
    return Promise.resolve();
  }

  exists(path: string): Promise<boolean> {
    return Promise.resolve(this.files.has(path));
  }

  /** File changes are not reported. */
  watch(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  bootId(): Promise<string> {
    return Promise.resolve(this.boot);
  }

  bootedAt(): Promise<Date> {
    return Promise.resolve(this.bootTime);
  }

  osRelease(): Promise<string> {
    return Promise.resolve('Debian GNU/Linux 12 (bookworm)');
  }

  kernel(): Promise<string> {
    return Promise.resolve('6.1.0');
  }

  private answer(command: string, args: readonly string[], line: string): CommandResult {
    switch (command) {
      case 'swapon':
        return ok(this.swapOn ? '/swapfile\n' : '');
      case 'lsmod':
        return ok(['Module Size Used by', ...[...this.modules].map((name) => `${name} 16384 0`)].join('\n'));
      case 'ip':
        return this.addresses === '' ? failed(127, 'spawn ip ENOENT') : ok(this.addresses);
      case 'dpkg-query':
        return this.dpkgQuery(args.slice(2));
      case 'sysctl':
        return this.sysctl(args, line);
      case 'systemctl':
        return this.systemctl(args, line);
      case 'apt-get':
        return this.aptGet(args, line);
      default:
        return this.change(command, args, line);
    }
  }

  private change(command: string, args: readonly string[], line: string): CommandResult {
    switch (command) {
      case 'hostnamectl':
        this.files.set('/etc/hostname', `${args[1] ?? ''}\n`);
        break;
      case 'swapoff':
        this.swapOn = false;
        break;
      case 'modprobe':
        this.modules.add(args[0] ?? '');
        if (args[0] === 'br_netfilter')
          for (const family of ['', '6']) this.sysctls.set(`net.bridge.bridge-nf-call-ip${family}tables`, '0');
        break;
      case 'kubeadm':
        break;
      case 'apt-mark':
        for (const name of args.slice(1)) this.packages.get(name)!.held = true;
        break;
      default:
        return failed(127, `spawn ${command} ENOENT`);
    }
    this.changes.push(line);
    return ok();
  }

  private sysctl(args: readonly string[], line: string): CommandResult {
    const unknown = (key: string): string => `sysctl: cannot stat /proc/sys/${key}: No such file or directory\n`;
    const [option, rest = ''] = args;
    if (option !== '-w') {
      const missing = args.filter((name) => !this.sysctls.has(name));
      const lines = args
        .filter((name) => this.sysctls.has(name))
        .map((name) => `${name} = ${this.sysctls.get(name)}\n`);
      return { code: missing.length === 0 ? 0 : 255, stdout: lines.join(''), stderr: missing.map(unknown).join('') };
    }
    const [key = '', value] = rest.split('=');
    if (!this.sysctls.has(key)) return failed(255, unknown(key));
    this.sysctls.set(key, value ?? '');
    this.changes.push(line);
    return ok();
  }

  private dpkgQuery(names: readonly string[]): CommandResult {
    const present = names.filter((name) => this.packages.has(name));
    const lines = present.map((name) => {
      const { version, held } = this.packages.get(name)!;
      return `${name}\t${version}\t${held ? 'hold' : 'install'}\tinstalled\n`;
    });
    return { code: present.length === names.length ? 0 : 1, stdout: lines.join(''), stderr: '' };
  }

  private systemctl(args: readonly string[], line: string): CommandResult {
    const verb = args[0] ?? '';
    const unit = args.at(-1) ?? '';
    if (verb === 'is-enabled') return this.enabled.has(unit) ? ok() : failed(1);
    if (verb === 'show')
      return ok(
        `UnitFileState=${this.enabled.has(unit) ? 'enabled' : 'disabled'}\nActiveState=${this.active.has(unit) ? 'active' : 'inactive'}\n`,
      );
    if (verb === 'is-active') return this.active.has(unit) ? ok() : failed(3);
    if (verb === 'enable') this.enabled.add(unit);
    else if (verb === 'start') this.active.add(unit);
    else if (verb === 'stop') this.active.delete(unit);
    this.changes.push(line);
    return ok();
  }

  private aptGet(args: readonly string[], line: string): CommandResult {
    if (args.includes('--download-only')) {
      this.changes.push(line);
      return ok();
    }
    for (const spec of args.filter((word) => word.includes('=') && word.endsWith('*'))) {
      const [name = '', version = ''] = spec.replace(/-?\*$/, '').split('=');
      this.packages.set(name, { version: `${version}-1.1`, held: false });
      if (name === 'containerd') this.active.add(name);
    }
    this.changes.push(line);
    return ok();
  }
}
