/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A fork bomb: each process begets others for ever, and all keep trying when no more are allowed. For a control group that
 * limits it (pids.max), which the first process enters, in a guest.
 *
 *	bomb FOLDER_OF_GROUP
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char file[256];
	int fd;

	if (argc != 2 || strncmp(argv[1], "/sys/fs/cgroup/", 15)) {
		fprintf(stderr, "usage: bomb /sys/fs/cgroup/GROUP\n");
		return 2;
	}
	snprintf(file, sizeof(file), "%s/cgroup.procs", argv[1]);
	fd = open(file, O_WRONLY);
	if (fd < 0 || write(fd, "0", 1) != 1) {
		perror(file);
		return 1;
	}
	for (;;)
		fork();
}
