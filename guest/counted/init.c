// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first process of a guest that guest/counted/boot starts: mounts what the kernel offers, copies /quick into memory, and runs
 * each line of /orders as a command in that copy, one after the other. Prints each line before, its exit status after, and turns
 * the guest off.
 *
 * The root is a folder of the host's, read through 9p, and waits there are the host's. So everything that runs is copied into
 * memory first, this program is locked there, and nothing opens a file of the root afterwards.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ORDERS_MAX 65536
#define WORDS_MAX 64

static char orders[ORDERS_MAX];

static void fail(const char *what)
{
	perror(what);
	sync();
	reboot(RB_POWER_OFF);
}

static void attach(const char *type, const char *where)
{
	if (mount(type, where, type, 0, NULL))
		fail(where);
}

static void copy(const char *name)
{
	static char bytes[1 << 16];
	char from[512], to[512];
	ssize_t got;
	int in, out;

	snprintf(from, sizeof(from), "/quick/%s", name);
	snprintf(to, sizeof(to), "/tmp/%s", name);
	in = open(from, O_RDONLY);
	out = open(to, O_WRONLY | O_CREAT, 0755);
	if (in < 0 || out < 0)
		fail(name);
	while ((got = read(in, bytes, sizeof(bytes))) > 0)
		if (write(out, bytes, got) != got)
			fail(to);
	close(in);
	close(out);
}

static void copy_all(void)
{
	DIR *folder = opendir("/quick");
	struct dirent *entry;

	if (!folder)
		fail("/quick");
	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			copy(entry->d_name);
	closedir(folder);
}

static void read_orders(void)
{
	int in = open("/orders", O_RDONLY);
	ssize_t got = in < 0 ? -1 : read(in, orders, sizeof(orders) - 1);

	if (got < 0 || got == sizeof(orders) - 1)
		fail("/orders");
	close(in);
}

static int run(char *line)
{
	char *words[WORDS_MAX + 1], *rest = line;
	int count = 0, status = 0;
	pid_t child = fork();

	if (child) {
		waitpid(child, &status, 0);
		return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	while (count < WORDS_MAX && (words[count] = strsep(&rest, " ")))
		count++;
	words[count] = NULL;
	execv(words[0], words);
	perror(words[0]);
	_exit(127);
}

int main(void)
{
	char *line, *rest = orders;

	attach("devtmpfs", "/dev");
	freopen("/dev/console", "r", stdin);
	freopen("/dev/console", "w", stdout);
	freopen("/dev/console", "w", stderr);
	setvbuf(stdout, NULL, _IOLBF, 0);
	attach("proc", "/proc");
	attach("sysfs", "/sys");
	attach("debugfs", "/sys/kernel/debug");
	attach("tracefs", "/sys/kernel/tracing");
	attach("bpf", "/sys/fs/bpf");
	attach("tmpfs", "/tmp");
	copy_all();
	read_orders();
	if (mlockall(MCL_CURRENT) || chdir("/tmp"))
		fail("mlockall");
	while ((line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		printf("@order %s\n", line);
		printf("@status %d\n", run(line));
	}
	reboot(RB_POWER_OFF);
	return 0;
}
