/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Says lengths with tandem.h, in C or C++: hint LENGTH... calls it in as many threads at once, then in a child of fork(). Prints
 * what each call returned, and each thread's number. With `next` before the lengths each is said in advance, by main().
 */
#include "tandem.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>

enum { MOST = 64 };

struct job {
	uint64_t length;
	long thread;
	int said;
};

static void *say(void *argument)
{
	struct job *job = (struct job *)argument;

	job->thread = syscall(SYS_gettid);
	job->said = tandem_hint(job->length);
	return NULL;
}

static int say_in_advance(int count, char **words)
{
	int i;

	for (i = 0; i < count; i++)
		printf("%ld %d\n", (long)getpid(), tandem_hint_next(strtoull(words[i], NULL, 10)));
	return 0;
}

int main(int count, char **words)
{
	static struct job jobs[MOST];
	pthread_t threads[MOST];
	pid_t child;
	int i;

	if (count > 1 && !strcmp(words[1], "next"))
		return say_in_advance(count - 2, words + 2);
	if (count - 1 > MOST)
		return 1;
	for (i = 0; i < count - 1; i++) {
		jobs[i].length = strtoull(words[i + 1], NULL, 10);
		if (pthread_create(&threads[i], NULL, say, &jobs[i]))
			return 1;
	}
	for (i = 0; i < count - 1; i++) {
		pthread_join(threads[i], NULL);
		printf("%ld %d\n", jobs[i].thread, jobs[i].said);
	}
	fflush(stdout);
	child = fork();
	if (!child) {
		printf("%ld %d\n", (long)getpid(), tandem_hint(4711));
		fflush(stdout);
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		return 1;
	return 0;
}
